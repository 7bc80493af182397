"""Damage by structure: what a file is made of is taken apart, changed, and put together again."""

import io
import json
import struct
import zipfile
import zlib

NUMBERS = (0, 1, 2, 3, 7, 64, 65, 127, 255, 2**15, 2**16, 2**20, 2**31 - 1, 2**31, 2**32, 2**53,
           2**62, 2**63 - 1, 2**63, 2**64 - 1, 10**9)  # fmt: skip
PLAIN = (
    *("", "0", "None", "float32", "class", "def", "__class__", "{x}", "\\", "\n", "\0", "é", "a/b"),
    *("../../x", "/etc/passwd", "a" * 3000, "\x1b[2J", "%s%n", "C:\\x", "torch", "x" * 40 + "\r"),
)


def planted(canary):
    """Texts that write the file `canary` if anything takes them for code."""
    write = f"open({canary!r},'w')"
    return (
        *(f'""";{write}#', f"''';{write}#", f"';{write};'", f'";{write};"', f"\\';{write}#"),
        *(f"\n{write}\n", f"{{{write}}}", f"x\\\n{write}", f"*,_={write}", f"x:={write}", write),
        *(f"[{write}][0]", f"a){write}(", f"$(touch {canary})", f"`touch {canary}`"),
        f"__import__('os').open({canary!r},65)",
        f"!!python/object/apply:os.open [{canary!r}, 65]",
    )


def pickle_that_writes(canary):
    """A pickle that calls `open(canary, 'w')` when it is loaded."""
    name = canary.encode()
    short = b"X" + struct.pack("<I", len(name)) + name
    return b"\x80\x02cio\nopen\n(" + short + b"X\x01\x00\x00\x00wtR."


class Mutator:
    """Changes with one source of chance."""

    def __init__(self, random, canary):
        self.random, self.canary = random, canary
        self.texts = PLAIN + planted(canary)

    def of(self, name, content):
        """A damaged copy of a file, by what it is made of."""
        kinds = [self.bytes]
        if content[:2] == b"PK":
            kinds += [self.zip] * 6
        elif content[:1] in (b"{", b"["):
            kinds += [self.json] * 6
        elif content[8:9] == b"{" and name.endswith((".safetensors", ".ckpt", ".rec")):
            kinds += [self.safetensors] * 6
        elif name.endswith((".onnx", ".pb", ".tflite")):
            kinds += [self.protobuf] * 6
        elif name.endswith((".xml", ".md", ".txt")):
            kinds += [self.text] * 6
        return self.random.choice(kinds)(content)

    def bytes(self, content):
        data, random = bytearray(content), self.random
        for _ in range(random.choice([1, 1, 2, 8])):
            at = random.randrange(len(data) + 1)
            what = random.randrange(7)
            if what == 0 and at < len(data):
                data[at] ^= 1 << random.randrange(8)
            elif what == 1:
                data[at : at + random.choice([1, 4, 64])] = b""
            elif what == 2:
                begin = random.randrange(len(data) + 1)
                data[at:at] = data[begin : begin + random.choice([1, 8, 64])]
            elif what == 3:
                data[at : at + 8] = struct.pack("<Q", random.choice(NUMBERS) % 2**64)
            elif what == 4:
                data[at : at + 4] = struct.pack("<I", random.choice(NUMBERS) % 2**32)
            elif what == 5:
                data[at:at] = random.choice(self.texts).encode()
            else:
                del data[at:]
        return bytes(data)

    # JSON -----------------------------------------------------------------------------------------

    def json(self, content):
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            return self.bytes(content)
        for _ in range(self.random.choice([1, 1, 2, 4])):
            found = self.nest(found)
        return json.dumps(found).encode()

    def nest(self, x):
        """The same nest with one change."""
        holders = []

        def look(item, depth):
            if isinstance(item, (dict, list)) and item and depth < 60:
                holders.append(item)
                for inner in item.values() if isinstance(item, dict) else item:
                    look(inner, depth + 1)

        look(x, 0)
        if not holders or self.random.random() < 0.02:
            return self.value()
        holder = self.random.choice(holders)
        key = self.random.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        what = self.random.randrange(6)
        if what == 0:
            del holder[key]
        elif what == 1 and isinstance(holder, dict):
            holder[self.random.choice(self.texts)] = holder.pop(key)
        elif what == 2 and isinstance(holder, list):
            holder.append(holder[key])
        elif what == 3:
            holder[key] = json.loads(json.dumps(self.random.choice(holders)))
        else:
            holder[key] = self.value(holder[key])
        return x

    def value(self, before=None):
        random = self.random
        if isinstance(before, str) and random.random() < 0.6:
            return random.choice(self.texts)
        if isinstance(before, int) and random.random() < 0.6:
            return random.choice([*NUMBERS, -1, -(2**63), before + 1, before * 2])
        return random.choice(
            [None, True, 0, -1, 1.5, 1e308, float("nan"), "", [], {}, [[[[]]]], [2**62] * 3,
             random.choice(NUMBERS), random.choice(self.texts), [[0] * 70], self.deep()]
        )  # fmt: skip

    def deep(self):
        found = []
        for _ in range(self.random.choice([5, 50, 400])):
            found = [found]
        return found

    # Files made of others ------------------------------------------------------------------------

    def zip(self, content):
        random = self.random
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                parts = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
        except Exception:
            return self.bytes(content)
        if not parts:
            return self.bytes(content)
        at = random.randrange(len(parts))
        name, inner = parts[at]
        what = random.randrange(8)
        if what == 0:
            del parts[at]
        elif what == 1:
            parts.append((name, self.of(name, inner)))
        elif what == 2:
            parts[at] = (random.choice([t for t in self.texts if t and "\0" not in t]), inner)
        elif what == 3 and name.endswith((".pt", ".pkl")):
            parts[at] = (name, pickle_that_writes(self.canary))
        else:
            jsons = [i for i, (n, _) in enumerate(parts) if n.endswith(".json")]
            at = random.choice(jsons) if jsons and random.random() < 0.7 else at
            parts[at] = (parts[at][0], self.of(*parts[at]))
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            for name, inner in parts:
                archive.writestr(zipfile.ZipInfo(name), inner)
        return made.getvalue()

    def safetensors(self, content):
        length = int.from_bytes(content[:8], "little")
        if length > len(content):
            return self.bytes(content)
        head, rest = content[8 : 8 + length], content[8 + length :]
        try:
            found = json.loads(head)
        except (ValueError, RecursionError):
            return self.bytes(content)
        metadata = found.get("__metadata__") if isinstance(found, dict) else None
        texts = metadata.items() if isinstance(metadata, dict) else []
        inner = [key for key, x in texts if isinstance(x, str) and x[:1] in ("{", "[")]
        if inner and self.random.random() < 0.6:  # text that is JSON itself
            key = self.random.choice(inner)
            metadata[key] = self.json(metadata[key].encode()).decode(errors="replace")
        else:
            found = self.nest(found)
        if self.random.random() < 0.1:
            rest = self.bytes(rest)
        return with_checksum(found, rest)

    # Text ----------------------------------------------------------------------------------------

    def text(self, content):
        words = content.replace(b"<", b"\0<").replace(b"|", b"\0|").split(b"\0")
        random = self.random
        for _ in range(random.choice([1, 2, 5])):
            at = random.randrange(len(words))
            what = random.randrange(5)
            if what == 0 and len(words) > 1:
                del words[at]
            elif what == 1:
                words.insert(at, random.choice(words))
            elif what == 2:
                words[at] = words[at] * random.choice([2, 50])
            elif what == 3:
                words[at] += random.choice(self.texts).encode()
            else:
                words[at] = self.bytes(words[at])
            words = words or [b""]
        return b"".join(words)

    # Protocol buffers: fields are found without a schema -----------------------------------------

    def protobuf(self, content):
        fields = parsed(content)
        if not fields:
            return self.bytes(content)
        for _ in range(self.random.choice([1, 1, 2, 4])):
            self._field(fields)
        return packed(fields)

    def _field(self, fields):
        random = self.random
        while True:
            at = random.randrange(len(fields))
            number, wire, value = fields[at]
            if isinstance(value, list) and value and random.random() < 0.85:
                fields = value
                continue
            break
        what = random.randrange(7)
        if what == 0:
            del fields[at]
            if not fields:
                fields.append([1, 0, 1])
        elif what == 1:
            fields.append([number, wire, _copied(value)])
        elif what == 2 and len(fields) > 1:
            other = random.choice(fields)
            fields[at] = [number, other[1], _copied(other[2])]
        elif wire == 0:
            fields[at][2] = random.choice(NUMBERS) % 2**64
        elif wire == 2:
            if isinstance(value, bytes) and random.random() < 0.7:
                fields[at][2] = random.choice(self.texts).encode()
            else:
                fields[at][2] = self.bytes(packed(value) if isinstance(value, list) else value)
        else:
            fields[at][2] = random.randbytes(8 if wire == 1 else 4)


def with_checksum(found, rest):
    """A safetensors file whose checksum is right, where it has one: else nothing behind it would be
    reached."""
    metadata = found.get("__metadata__") if isinstance(found, dict) else None
    if isinstance(metadata, dict) and "checksum" in metadata:
        metadata["checksum"] = "00000000"
    head = json.dumps(found, separators=(",", ":")).encode()
    length = len(head).to_bytes(8, "little")
    value = zlib.crc32(rest, zlib.crc32(length + head))
    return length + head.replace(b'"checksum":"00000000"', b'"checksum":"%08x"' % value, 1) + rest


def _copied(value):
    return [[n, w, _copied(v)] for n, w, v in value] if isinstance(value, list) else value


def parsed(data, depth=0):
    """Fields as [number, wire type, value]; None if it is no message."""
    fields, at = [], 0
    while at < len(data):
        key, at = _varint(data, at)
        if key is None or key >> 3 == 0:
            return None
        wire = key & 7
        if wire == 0:
            value, at = _varint(data, at)
            if value is None:
                return None
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, at = data[at : at + size], at + size
            if at > len(data):
                return None
        elif wire == 2:
            length, at = _varint(data, at)
            if length is None or at + length > len(data):
                return None
            value, at = data[at : at + length], at + length
            inner = parsed(value, depth + 1) if depth < 20 and len(value) > 1 else None
            value = inner or value
        else:
            return None
        fields.append([key >> 3, wire, value])
    return fields


def packed(fields):
    made = bytearray()
    for number, wire, value in fields:
        made += _written(number << 3 | wire)
        if wire == 0:
            made += _written(value)
        elif wire == 2:
            inner = packed(value) if isinstance(value, list) else value
            made += _written(len(inner)) + inner
        else:
            made += value if isinstance(value, bytes) else bytes(8 if wire == 1 else 4)
    return bytes(made)


def _varint(data, at):
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return None, at


def _written(value):
    made = bytearray()
    while True:
        made.append((value & 127) | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(made)
