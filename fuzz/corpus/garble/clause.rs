pub fn main(x: u8, y: u8) -> u8 {
  match x {
    0..=9 => { y }
    1 - { x }
  }
}