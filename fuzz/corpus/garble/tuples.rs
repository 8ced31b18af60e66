pub fn main(x: (u8, bool), y: [u8; 4]) -> (i64, bool) {
  let (a, b) = x;
  let mut z = y;
  z[a as usize] = 1u8;
  (-1i64 * (a as i64) % 3i64, b && true || z[0] >= 4u8)
}