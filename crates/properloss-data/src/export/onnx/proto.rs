//! Protocol buffers, as far as an ONNX file needs them: written by hand.
//!
//! A message is a list of fields; a field is its number and wire type, then a varint or a length and
//! bytes. That is all there is to it, so that neither a compiler of schemas at build time nor a
//! library of derived messages is needed for files that are only written.

/// A message under construction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    /// No field yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// An integer (wire type 0).
    pub fn int(mut self, field: u32, value: i64) -> Self {
        self.key(field, 0);
        varint(&mut self.0, value as u64);
        self
    }

    /// Bytes (wire type 2).
    pub fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.key(field, 2);
        varint(&mut self.0, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// A text.
    pub fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// A message within.
    pub fn message(self, field: u32, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    /// A message within, for each of many.
    pub fn messages<'a>(self, field: u32, messages: impl IntoIterator<Item = &'a Self>) -> Self {
        messages.into_iter().fold(self, |message, inner| message.message(field, inner))
    }

    /// Integers, one after another without a key each.
    pub fn ints(self, field: u32, values: &[i64]) -> Self {
        let mut packed = Vec::new();
        values.iter().for_each(|&value| varint(&mut packed, value as u64));
        self.bytes(field, &packed)
    }

    /// The bytes of the whole.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn key(&mut self, field: u32, wire: u32) {
        varint(&mut self.0, u64::from(field << 3 | wire));
    }
}

/// Seven bits a byte, the lowest first; the eighth bit says that more follow.
fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    // The examples of the format's own documentation: 150 is 96 01, "testing" has tag 12 07.
    #[test]
    fn fields_have_the_bytes_of_the_specification() {
        assert_eq!(Message::new().int(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        let testing = [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67];
        assert_eq!(Message::new().text(2, "testing").into_bytes(), testing);
        let inner = Message::new().int(1, 150);
        assert_eq!(Message::new().message(3, &inner).into_bytes(), [0x1a, 3, 0x08, 0x96, 0x01]);
        let packed = [0x32, 6, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05];
        assert_eq!(Message::new().ints(6, &[3, 270, 86_942]).into_bytes(), packed);
    }

    #[test]
    fn negative_integers_take_ten_bytes() {
        let bytes = Message::new().int(1, -1).into_bytes();
        assert_eq!(bytes, [8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
        // A key above 15 takes two bytes.
        assert_eq!(Message::new().int(20, 1).into_bytes(), [0xa0, 0x01, 1]);
    }
}
