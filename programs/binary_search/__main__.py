from ..common import main
from .example import examples

main(examples())
