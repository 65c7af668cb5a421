//! A function's body with addresses replaced by their meaning, as a digest.

use std::collections::BTreeMap;

use iced_x86::{Code, ConstantOffsets, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};
use sha2::{Digest, Sha256};

use super::image::{Image, Named};

/// Largest object whose content is looked at, in bytes; of a larger one its size is.
const LARGEST_OBJECT: u64 = 1 << 20;
/// Bytes that are looked at of a constant of unknown length.
const UNKNOWN_LENGTH: usize = 64;
/// Longest string without a name.
const LONGEST_STRING: usize = 4096;
/// Entries that are looked at of a jump table.
const MOST_ENTRIES: u64 = 4096;

/// Digest of a function's body; `None` where it refers to something that cannot be told.
pub fn digest(image: &Image<'_>, function: &Named) -> Option<[u8; 32]> {
    let length = usize::try_from(function.end - function.start).ok()?;
    let code = image.bytes(function.start, length)?;
    let body = Body {
        image,
        function,
        places: places(code, function.start),
    };
    let mut hash = Hash(Sha256::new());
    let mut decoder = Decoder::with_ip(64, code, function.start, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        if !is_padding(&instruction) {
            let offsets = decoder.get_constant_offsets(&instruction);
            body.instruction(&instruction, &offsets, code, &mut hash)?;
        }
    }
    Some(hash.0.finalize().into())
}

fn is_padding(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3)
}

/// The number of each instruction by its address; of padding the number of what follows.
fn places(code: &[u8], start: u64) -> BTreeMap<u64, u64> {
    let mut places = BTreeMap::new();
    let mut number = 0;
    let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
    while decoder.can_decode() {
        let instruction = decoder.decode();
        places.insert(instruction.ip(), number);
        number += u64::from(!is_padding(&instruction));
    }
    places
}

/// A digest in the making. Every part carries its kind and its length.
struct Hash(Sha256);

impl Hash {
    fn add(&mut self, kind: &str, bytes: &[u8]) {
        for part in [kind.as_bytes(), bytes] {
            self.0.update((part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
    }

    fn number(&mut self, kind: &str, number: u64) {
        self.add(kind, &number.to_le_bytes());
    }
}

struct Body<'i, 'd> {
    image: &'i Image<'d>,
    function: &'i Named,
    places: BTreeMap<u64, u64>,
}

impl Body<'_, '_> {
    fn instruction(
        &self,
        instruction: &Instruction,
        offsets: &ConstantOffsets,
        code: &[u8],
        hash: &mut Hash,
    ) -> Option<()> {
        let from = (instruction.ip() - self.function.start) as usize;
        let mut bytes = code.get(from..from + instruction.len())?.to_vec();
        if instruction.code() == Code::INVALID {
            hash.add("data", &bytes);
            return Some(());
        }
        if matches!(
            instruction.op_kind(0),
            OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
        ) && instruction.op_count() > 0
        {
            // A jump is as long as its way: the bytes say no more than what follows.
            hash.number("branch", instruction.mnemonic() as u64);
            return self.target(instruction.near_branch_target(), hash);
        }
        let mut targets = Vec::new();
        if instruction.is_ip_rel_memory_operand() {
            blank(
                &mut bytes,
                offsets.displacement_offset(),
                offsets.displacement_size(),
            );
            targets.push((
                instruction.ip_rel_memory_address(),
                instruction.memory_size().size(),
            ));
        } else if self.image.is_fixed {
            let displacement = instruction.memory_displacement64();
            if offsets.displacement_size() >= 4 && self.image.holds(displacement) {
                blank(
                    &mut bytes,
                    offsets.displacement_offset(),
                    offsets.displacement_size(),
                );
                targets.push((displacement, instruction.memory_size().size()));
            }
        }
        if self.image.is_fixed
            && offsets.immediate_size() >= 4
            && let Some(immediate) = immediate(instruction)
            && self.image.holds(immediate)
        {
            blank(
                &mut bytes,
                offsets.immediate_offset(),
                offsets.immediate_size(),
            );
            targets.push((immediate, 0));
        }
        hash.add("instruction", &bytes);
        for (address, size) in targets {
            self.reference(address, size, hash)?;
        }
        Some(())
    }

    /// Where a jump or a call goes.
    fn target(&self, address: u64, hash: &mut Hash) -> Option<()> {
        if let Some(place) = self.places.get(&address) {
            hash.number("place", *place);
            return Some(());
        }
        match self.image.find(address) {
            Some(named) => {
                self.name(named, address, hash);
                Some(())
            }
            None => self.stub(address, hash),
        }
    }

    /// The symbol that a stub of the procedure linkage table jumps to.
    fn stub(&self, address: u64, hash: &mut Hash) -> Option<()> {
        let code = self.image.content(address, 32)?;
        let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
        while decoder.can_decode() {
            let instruction = decoder.decode();
            if instruction.mnemonic() == Mnemonic::Jmp {
                let slot = instruction.ip_rel_memory_address();
                let is_stub = instruction.is_ip_rel_memory_operand();
                return (is_stub && self.pointed(slot, hash)).then_some(());
            }
        }
        None
    }

    fn name(&self, named: &Named, address: u64, hash: &mut Hash) {
        hash.add("name", named.name.as_bytes());
        // A cold part jumps back into the middle of the function, past padding.
        let code = || {
            self.image
                .bytes(named.start, (named.end - named.start) as usize)
        };
        let place = match named.is_code && address > named.start {
            true => code().and_then(|code| places(code, named.start).get(&address).copied()),
            false => None,
        };
        match place {
            Some(place) => hash.number("place", place),
            None => hash.number("offset", address - named.start),
        }
    }

    /// What an address in an instruction refers to; `size` is that of the access, 0 where only the
    /// address is taken.
    fn reference(&self, address: u64, size: usize, hash: &mut Hash) -> Option<()> {
        if self.places.contains_key(&address) || self.image.is_code(address) {
            return self.target(address, hash);
        }
        if let Some(name) = self.image.import(address) {
            hash.add("import", name.as_bytes());
            return Some(());
        }
        if let Some(named) = self.image.find(address) {
            self.name(named, address, hash);
            self.object(named, hash);
            return Some(());
        }
        self.nameless(address, size, hash)
    }

    /// Content of an object with a name: words, or what they point at.
    fn object(&self, named: &Named, hash: &mut Hash) {
        let size = named.end - named.start;
        hash.number("size", size);
        if size > LARGEST_OBJECT {
            return;
        }
        let mut at = named.start;
        while at < named.end {
            let length = (named.end - at).min(8);
            if length == 8 && self.pointed(at, hash) {
                at += 8;
                continue;
            }
            let bytes = self.image.bytes(at, length as usize).unwrap_or_default();
            hash.add("word", bytes);
            at += length;
        }
    }

    /// Says what the word at an address points at, if it is a pointer.
    fn pointed(&self, at: u64, hash: &mut Hash) -> bool {
        if let Some(name) = self.image.import(at) {
            hash.add("import", name.as_bytes());
            return true;
        }
        let Some(target) = self.image.pointer(at) else {
            return false;
        };
        match self.image.find(target) {
            Some(named) => self.name(named, target, hash),
            None => hash.add("nameless", self.string_or_bytes(target)),
        }
        true
    }

    /// A constant, a string or a jump table, none of which has a name.
    fn nameless(&self, address: u64, size: usize, hash: &mut Hash) -> Option<()> {
        for cases in [self.cases(address, 4), self.cases(address, 8)] {
            if !cases.is_empty() {
                cases.iter().for_each(|place| hash.number("case", *place));
                return Some(());
            }
        }
        // A pointer that the linker could have resolved, such as one of its own table's.
        if size == 8 && self.pointed(address, hash) {
            return Some(());
        }
        let bytes = match size {
            0 => self.string_or_bytes(address),
            size => self.image.content(address, size)?,
        };
        self.image
            .holds(address)
            .then(|| hash.add("nameless", bytes))
    }

    /// Where the entries of a jump table go, as far as they stay within the function: offsets from
    /// the table's start of 4 bytes, or addresses of 8. None where it is no jump table.
    fn cases(&self, table: u64, width: u64) -> Vec<u64> {
        let target = |entry: u64| match width {
            4 => {
                let bytes = self.image.bytes(entry, 4)?;
                let offset = i32::from_le_bytes(bytes.try_into().ok()?);
                Some(table.wrapping_add_signed(i64::from(offset)))
            }
            _ => self.image.pointer(entry),
        };
        (0..MOST_ENTRIES)
            .map_while(|entry| {
                self.places
                    .get(&target(table.saturating_add(entry * width))?)
                    .copied()
            })
            .collect()
    }

    /// A string with its end, else as many bytes as may belong to it.
    fn string_or_bytes(&self, address: u64) -> &[u8] {
        let content = self
            .image
            .content(address, LONGEST_STRING)
            .unwrap_or_default();
        let end = content.iter().position(|byte| *byte == 0);
        let is_text = |text: &[u8]| {
            text.iter()
                .all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
        };
        match end {
            Some(end) if end > 0 && is_text(&content[..end]) => &content[..=end],
            _ => &content[..content.len().min(UNKNOWN_LENGTH)],
        }
    }
}

fn blank(bytes: &mut [u8], offset: usize, size: usize) {
    if let Some(field) = bytes.get_mut(offset..offset + size) {
        field.fill(0);
    }
}

fn immediate(instruction: &Instruction) -> Option<u64> {
    (0..instruction.op_count()).find_map(|operand| match instruction.op_kind(operand) {
        OpKind::Immediate32 => Some(u64::from(instruction.immediate32())),
        OpKind::Immediate64 => Some(instruction.immediate64()),
        OpKind::Immediate32to64 => Some(instruction.immediate32to64() as u64),
        _ => None,
    })
}
