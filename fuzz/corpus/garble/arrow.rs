enum Wish { Nothing, Price(u16), Both(u8, i8) }
struct Offer { le!st: u16, sizes: [(u8, bool); 3], open: bool }
struct Deal { price: u16, wish: Wish, first: (u8, bool) }
pub fn main(offer: Offer, wish: Wish) -> Deal {
    let price = match wish {
        Wish::Nothing => 0u16,
        Wish::Price(price) => { price }
        Wi-> (i64, bool) {
  let (a, b) = x;
  let mut z = y;
  zsh::Both(a, b) => { a as u16 }
    };
    let sizes = offer.s