//! Bytes of a checkpoint: little-endian, versioned, independent of executor and tile width.

use manyworlds_shaders::Scalar;

use crate::Error;

/// What every checkpoint begins with; the last byte is the version.
const MAGIC: [u8; 8] = *b"mworlds\x06";

/// Collects a checkpoint.
#[derive(Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// A checkpoint of numbers of `bytes` bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        let mut writer = Self::default();
        writer.0.extend(MAGIC);
        writer.count(bytes);
        writer
    }

    pub(crate) fn count(&mut self, x: usize) {
        self.0.extend((x as u64).to_le_bytes());
    }

    pub(crate) fn word(&mut self, x: u32) {
        self.0.extend(x.to_le_bytes());
    }

    pub(crate) fn real<T: Scalar>(&mut self, x: T) {
        // Through f64 no bit of an f32 is lost.
        let x = x.to_f64();
        if size_of::<T>() == 4 { self.0.extend((x as f32).to_le_bytes()) } else { self.0.extend(x.to_le_bytes()) }
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Reads a checkpoint, and says what is wrong with it.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Checks the head.
    pub(crate) fn new(bytes: &'a [u8], real_bytes: usize) -> Result<Self, Error> {
        let mut reader = Self { bytes, at: 0 };
        if reader.take::<8>()? != MAGIC {
            return Err(Error::Checkpoint("not a checkpoint of this version".into()));
        }
        reader.expect("bytes of a number", real_bytes)?;
        Ok(reader)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let part = self.bytes.get(self.at..self.at + N).and_then(|part| part.try_into().ok());
        let part = part.ok_or_else(|| Error::Checkpoint(format!("ends at byte {}", self.bytes.len())))?;
        self.at += N;
        Ok(part)
    }

    pub(crate) fn count(&mut self) -> Result<usize, Error> {
        let at = self.at;
        let x = u64::from_le_bytes(self.take()?);
        // Nothing that is counted takes less than a byte.
        usize::try_from(x)
            .ok()
            .filter(|&x| x <= self.bytes.len())
            .ok_or_else(|| Error::Checkpoint(format!("byte {at}: {x} items in {} bytes", self.bytes.len())))
    }

    /// A count that must be what the batch has.
    pub(crate) fn expect(&mut self, what: &str, expected: usize) -> Result<(), Error> {
        let found = u64::from_le_bytes(self.take()?);
        if found == expected as u64 {
            return Ok(());
        }
        Err(Error::Checkpoint(format!("{what}: this batch has {expected}, the checkpoint {found}")))
    }

    pub(crate) fn word(&mut self) -> Result<u32, Error> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    pub(crate) fn real<T: Scalar>(&mut self) -> Result<T, Error> {
        let x = if size_of::<T>() == 4 {
            f64::from(f32::from_le_bytes(self.take()?))
        } else {
            f64::from_le_bytes(self.take()?)
        };
        Ok(T::from_f64(x))
    }

    /// Nothing may be left.
    pub(crate) fn finish(self) -> Result<(), Error> {
        match self.bytes.len() - self.at {
            0 => Ok(()),
            rest => Err(Error::Checkpoint(format!("{rest} bytes too many"))),
        }
    }
}
