const ROWS: usize = PARTY_0::ROWS;
/* the least /* of all */ */
fn least(x: u16, y: u16) -> u16 { if x < y { x } else if x == y { y } else { y } }
pub fn main(xs: [u16; ROWS], limit: u16) -> u16 {
    let mut sum = 0u16;
    for x in xs { sum = sum ^ (x << 2u8); }
    for i in 0u8..10u8 { sum = least(sum, limit) + (i as u16); }
    !sum
}
