enum Wish { Nothing, Price(u16), Both(u8, i8) }
struct Offer { least: u16, sizes: [(u8, bool); 3], open: bool }
struct Deal { price: u16, wish: Wish, first: (u8, bool) }
pub fn main(offer: Offer, wish: Wish) -> Deal {
    let price = match wish {
        Wish::Nothing => 0u16,
        Wish::Price(price) => { price }
        Wish::Both(a, b) => { a as u16 }
    };
    let sizes = offer.sizes;
    let price = if offer.open & (price >= offer.least) { price } else { 0u16 };
    Deal { price: price, wish: wish, first: sizes[1] }
}
