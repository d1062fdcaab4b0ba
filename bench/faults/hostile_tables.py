"""Tables, sparse files, images and compressed files that nobody should write, by name: (bytes, options)."""

import gzip
import struct
import zlib

#: A table that any fit takes; most of what follows is this with one thing wrong.
ROWS = [(k * 37 % 101 / 10 - 5, k * 53 % 97 / 7, "yes" if (k * 37 % 101 + k * 7 % 40) > 70 else "no") for k in range(60)]
GOOD = "a,b,y\n" + "".join(f"{a},{b:.4f},{y}\n" for a, b, y in ROWS)


def with_cell(text):
    """The good table with this as one cell of the first column."""
    lines = GOOD.splitlines()
    lines[7] = text + lines[7][lines[7].index(","):]
    return "\n".join(lines) + "\n"


def tables():
    """CSV and TSV."""
    yield "good", GOOD
    for k, cell in enumerate([
        "1e400", "-1e400", "1e-400", "-0", "+0.0", "0x1p3", "0x10", "1_000", "1,5", "'3'", "1e", "e5", ".", "+", "-", "--3",
        "+-3", "1.2.3", "٣", "３", "½", "1e308", "-1.7976931348623157e308", "4.9e-324", "9" * 400, "0." + "0" * 400 + "1",
        "1" + "0" * 309, "inf", "Inf", "INF", "+inf", "-inf", "infinity", "-Infinity", "∞", "1.#INF", "#DIV/0!", "1/0",
        "nan", "NaN", "-nan", "nan(0x1)", "1.#QNAN", "#N/A", "NULL", "None", "?", "-", "n/a", "true", "TRUE", "t",
        "2024-02-30", "2024-01-31", "0000-00-00", "99999-12-31", "1e5e5", "1d5", "0b1", "0o7", "1f", "$3", "3%", "1 000", "\u00a03",
        "\ufeff3", "\u202e3", "\x1b[31m3", "\x07", "\x00", "a\x00b", "\\", "\\n", "=1+1", "@SUM(A1)", "\ud7ff", "\U0010ffff",
        "x" * 70000, "\"unclosed", "\"a\"b", "\"\"\"", "\"a\"\"", "'", "`", "<script>", "%s%n%d", "../../etc/passwd", "{}", "[1]",
    ]):
        yield f"cell-{k}", with_cell(cell)
    header, body = GOOD.split("\n", 1)
    yield "newlines-in-quotes", "a,b,y\n" + "".join(f'"{k}\n",{k % 7},{k % 2}\n' for k in range(100_000))
    yield "quotes-only", '"' * 200_001
    yield "commas-only", "," * 200_000 + "\n" + "," * 200_000 + "\n"
    yield "newlines-only", "\n" * 200_000
    yield "carriage-returns", GOOD.replace("\n", "\r")
    yield "mixed-ends", GOOD.replace("no\n", "no\r\n").replace("yes\n", "yes\n\n")
    yield "no-last-newline", GOOD.rstrip("\n")
    yield "utf16-le", b"\xff\xfe" + GOOD.encode("utf-16-le")
    yield "utf16-be", b"\xfe\xff" + GOOD.encode("utf-16-be")
    yield "utf32", GOOD.encode("utf-32")
    yield "utf8-mark", "\ufeff" + GOOD
    yield "two-marks", "\ufeff\ufeff" + GOOD
    yield "mark-in-quotes", '\ufeff"a",b,y\n' + body
    yield "latin1", GOOD.replace("yes", "ja\xdf").encode("latin-1")
    yield "overlong-utf8", GOOD.encode().replace(b"yes", b"\xc0\xaf")
    yield "surrogate", GOOD.encode().replace(b"yes", b"\xed\xa0\x80")
    yield "zeros", bytes(1 << 20)
    yield "zero-in-header", GOOD.replace("a,b", "a\0,b")
    yield "ones", b"\xff" * (1 << 20)
    yield "control-header", GOOD.replace("a,b", "\x1b]0;owned\x07,b")
    yield "long-header", "h" * 2_000_000 + ",y\n1,0\n2,1\n"
    yield "same-header", "y,y,y\n" + body
    yield "empty-header", ",,\n" + body
    yield "header-newline", '"a\nb",b,y\n' + body
    yield "header-of-numbers", "1e400,nan,inf\n" + body
    yield "wide", ",".join(f"c{k}" for k in range(100_000)) + ",y\n" + "".join("1," * 100_000 + f"{k % 2}\n" for k in range(4))
    yield "too-wide", ",".join("c" for _ in range(1_100_000)) + "\n"
    yield "wider-rows", "a,y\n" + "".join("1," * (k + 1) + "0\n" for k in range(300))
    yield "one-column", "y\n0\n1\n0\n1\n"
    yield "one-row", "a,y\n1,0\n"
    yield "label-only-once", "a,y\n" + "".join(f"{k},0\n" for k in range(50)) + "50,1\n"
    yield "identifiers", "a,y\n" + "".join(f"u{k},{k % 2}\n" for k in range(30_000))
    yield "many-categories", "a,y\n" + "".join(f"{'x' * 30}{k // 2},{k % 2}\n" for k in range(60_000))
    yield "category-each-cell", "a,b,c,y\n" + "".join(f"p{k % 997},q{k % 991},r{k % 983},{k % 2}\n" for k in range(20_000))
    yield "constant", "a,b,y\n" + "".join(f"1,1,{k % 2}\n" for k in range(100))
    yield "huge-and-tiny", "a,b,y\n" + "".join(f"{'1e308' if k % 3 else '-1e308'},{k}e-320,{k % 2}\n" for k in range(100))
    yield "overflow-of-sums", "a,b,y\n" + "".join(f"1.7e308,1.7e308,{k % 2}\n" for k in range(100))
    yield "square-overflows", "a,b,y\n" + "".join(f"{k}e200,{-k}e200,{k % 2}\n" for k in range(100))
    yield "separable", "a,y\n" + "".join(f"{k},{int(k > 50)}\n" for k in range(100))
    yield "separable-huge", "a,y\n" + "".join(f"{k}e300,{int(k > 50)}\n" for k in range(100))
    yield "subnormal", "a,y\n" + "".join(f"{k * 5e-324},{k % 3 % 2}\n" for k in range(100))
    yield "classes-of-numbers", "a,y\n" + "".join(f"{k % 13},{k % 5}e300\n" for k in range(100))
    yield "classes-near", "a,y\n" + "".join(f"{k % 13},{k % 3}.0{'0' * (k % 2)}\n" for k in range(100))
    yield "thousand-classes", "a,b,y\n" + "".join(f"{k % 13},{k % 7},c{k % 900}\n" for k in range(3600))
    yield "classes-with-nul", "a,y\n" + "".join(f"{k % 13},c\0{k % 3}\n" for k in range(100))
    yield "classes-with-quotes", "a,y\n" + "".join(f"{k % 13},\"\"\"c,{k % 3}\n\"\n" for k in range(99))
    yield "dates", "a,y\n" + "".join(f"{1900 + k}-02-{1 + k % 28:02d},{k % 2}\n" for k in range(100))
    yield "bad-dates", "a,y\n" + "".join(f"2023-02-{1 + k % 31:02d},{k % 2}\n" for k in range(100))
    yield "label-spaces", "a,y\n" + "".join(f"{k},{' ' * (k % 3)}{k % 2}\n" for k in range(100))
    yield "json-lines", "".join(f'{{"a": {k}, "y": {k % 2}}}\n' for k in range(100))
    yield "html", "<html><body><table><tr><td>1</td></tr></table></body></html>\n"
    yield "elf", b"\x7fELF" + bytes(range(256)) * 300
    yield "comment-lines", "# made by\n# a tool\n" + GOOD
    yield "semicolons", GOOD.replace(",", ";")
    yield "pipes", GOOD.replace(",", "|")
    yield "backspaces", GOOD.replace(",", "\x08,")


def tables_with_options():
    """A table and the options it is read with."""
    weights = "a,w,y\n" + "".join(f"{k % 13},{{}},{k % 2}\n" for k in range(60))
    for k, weight in enumerate(["0", "-1", "nan", "inf", "1e308", "5e-324", "1e-300", "", "x", "1e400", "-0"]):
        yield f"weights-{k}", weights.replace("{}", weight), "--weight w"
        yield f"one-weight-{k}", weights.replace("{}", weight, 1).replace("{}", "1"), "--weight w"
    yield "weights-sum", weights.replace("{}", "1.7e308"), "--weight w --relative-weights"
    yield "delimiter-quote", GOOD, "--delimiter \""
    yield "delimiter-newline", GOOD, "--delimiter \n"
    yield "delimiter-wide", GOOD, "--delimiter €"
    yield "label-everything", GOOD, "--label a"
    yield "ignore-all", GOOD, "--ignore a --ignore b"
    yield "ignore-label", GOOD, "--ignore y"
    yield "group-label", GOOD, "--group y"
    yield "group-alone", "a,g,y\n" + "".join(f"{k % 13},{k},{k % 2}\n" for k in range(60)), "--group g"
    yield "group-one", "a,g,y\n" + "".join(f"{k % 13},1,{k % 2}\n" for k in range(60)), "--group g"
    yield "categorical-number", "a,y\n" + "".join(f"{k / 3},{k % 2}\n" for k in range(3000)), "--categorical a"
    yield "positive-nothing", GOOD, "--positive ,"
    yield "positive-long", GOOD, "--positive " + "x" * 50_000
    yield "no-header", GOOD, "--no-header"
    yield "missing-all", "a,b,y\n" + ",,0\n,,1\n" * 30, "--missing mean"
    yield "missing-drop", "a,b,y\n" + ",1,0\n1,,1\n" * 30, "--missing drop"
    yield "memory-one-byte", GOOD, "--memory 1"
    yield "memory-20MB", GOOD, "--memory 20MB"


def sparse():
    """LibSVM."""
    body = "".join(f"{k % 2} 1:{k % 13} 3:{k % 7}.5\n" for k in range(60))
    yield "good", body
    for k, line in enumerate([
        "1 3:1 3:2", "1 3:1 1:2", "1 0:1", "1 -1:1", "1 4294967296:1", "1 4294967295:1", "1 18446744073709551616:1", "1 1.5:1",
        "1 1:nan", "1 1:inf", "1 1:1e400", "1 1:", "1 :1", "1 1", "1 1:1:1", "1 1: 1", "1 1 :1", ":", "1:1", "", " ", "#", "1 # 3:x",
        "1 qid:1 1:2", "1 qid:99999999999999999999 1:2", "1 qid: 1:2", "nan 1:1", "inf 1:1", "1e400 1:1", "1,2 1:1", "1,2,3 1:1",
        "2 1:1", "-1 1:1", "+1 1:1", "1.0000000001 1:1", "x 1:1", "1 1:0x5", "1 01:1", "1 +1:1", "1\t1:1", "1\x0b1:1", "1 1:1\x00", "\x00",
        "1 1:1e308", "1 1:-0", "1 1:5e-324", "1 1:1 2:1 2:1", "\ufeff1 1:1", "1 １:1", "1 " + "9" * 5000 + ":1", "1 1:" + "9" * 5000,
        "1 " + " ".join(f"{k}:1" for k in range(1, 30_000)), "1 " + " ".join(f"{k}:1" for k in range(30_000, 1, -1)),
    ]):
        yield f"line-{k}", body + line + "\n"
        yield f"first-line-{k}", line + "\n" + body
    yield "spread", "".join(f"{k % 2} " + " ".join(f"{(j * 2654435761 + k * 97) % 2**32 or 1}:1" for j in ([k])) + "\n" for k in range(5000))
    yield "no-features", "0\n1\n" * 50
    yield "labels-many", "".join(f"{k} 1:{k}\n" for k in range(2000))
    yield "labels-real", "".join(f"{k / 7} 1:{k}\n" for k in range(2000))


def packed():
    """gzip: name, bytes, the name of the file."""
    once = gzip.compress(GOOD.encode())
    half = GOOD[:200].encode(), GOOD[200:].encode()
    yield "good", once
    yield "twice", gzip.compress(once)
    yield "ten-times", __import__("functools").reduce(lambda text, _: gzip.compress(text), range(10), GOOD.encode())
    yield "members", gzip.compress(half[0]) + gzip.compress(half[1])
    yield "member-a-byte", b"".join(gzip.compress(bytes([byte])) for byte in GOOD.encode())
    yield "empty-members", gzip.compress(b"") * 20_000 + once
    yield "empty", gzip.compress(b"")
    yield "rubbish-after", once + b"rubbish"
    yield "zeros-after", once + bytes(1000)
    yield "wrong-checksum", once[:-8] + b"\0\0\0\0" + once[-4:]
    yield "wrong-length", once[:-4] + b"\xff\xff\xff\xff"
    yield "magic-only", b"\x1f\x8b"
    yield "header-only", once[:10]
    yield "header-flags", b"\x1f\x8b\x08\xff" + once[4:]
    yield "long-name", b"\x1f\x8b\x08\x08" + once[4:10] + b"n" * 3_000_000 + b"\0" + once[10:]
    yield "endless-name", b"\x1f\x8b\x08\x08" + once[4:10] + b"n" * 3_000_000
    yield "extra-field", b"\x1f\x8b\x08\x04" + once[4:10] + struct.pack("<H", 65535) + bytes(65535) + once[10:]
    yield "stored-block", b"\x1f\x8b\x08\x00\0\0\0\0\0\xff\x01\xff\xff\x00\x00"
    yield "zlib", zlib.compress(GOOD.encode())
    yield "bomb-lines", gzip.compress(b"a,b,y\n" + b"1,2,0\n2,1,1\n" * 400_000)
    yield "bomb-zeros", gzip.compress(bytes(100 << 20))
    yield "bomb-quotes", gzip.compress(b'"' + b"\n" * (40 << 20))
    yield "bomb-header", gzip.compress(b"a," * (20 << 20))
    yield "zip", b"PK\x03\x04" + GOOD.encode()
    yield "xz", b"\xfd7zXZ\x00" + GOOD.encode()
    yield "zstd", b"\x28\xb5\x2f\xfd" + GOOD.encode()


def images():
    """IDX images and labels."""
    def idx(kind, sizes, data):
        return bytes([0, 0, kind, len(sizes) % 256]) + b"".join(struct.pack(">I", size) for size in sizes) + data
    labels = idx(8, [20], bytes(k % 2 for k in range(20)))
    pixels = bytes(k * 37 % 256 for k in range(80))
    yield "good", idx(8, [20, 2, 2], pixels), labels
    yield "huge", idx(8, [2**32 - 1] * 3, pixels), labels
    yield "product-wraps", idx(8, [2**16, 2**16, 2**16, 2**16], pixels), labels
    yield "zero-times-huge", idx(8, [0, 2**32 - 1, 2**32 - 1], b""), labels
    yield "zero-wide", idx(8, [20, 0, 0], b""), labels
    yield "no-sizes", idx(8, [], b"\0"), labels
    yield "sizes-255", bytes([0, 0, 8, 255]) + b"\0\0\0\1" * 255 + b"\1", labels
    yield "short", idx(8, [20, 2, 2], pixels[:79]), labels
    yield "long", idx(8, [20, 2, 2], pixels + b"\0"), labels
    yield "kind", idx(7, [20, 2, 2], pixels), labels
    yield "doubles-nan", idx(0x0E, [20, 1], b"\x7f\xf8\0\0\0\0\0\0" * 20), labels
    yield "floats-inf", idx(0x0D, [20, 1], b"\x7f\x80\0\0" * 20), labels
    yield "other-count", idx(8, [20, 2, 2], pixels), idx(8, [21], bytes(21))
    yield "labels-of-images", idx(8, [20, 2, 2], pixels), idx(8, [20, 2, 2], pixels)
    yield "labels-empty", idx(8, [20, 2, 2], pixels), b""
    yield "labels-csv", idx(8, [20, 2, 2], pixels), GOOD.encode()
    yield "labels-huge", idx(8, [20, 2, 2], pixels), idx(8, [2**32 - 1], bytes(20))
    yield "labels-256", idx(8, [20, 2, 2], pixels), idx(8, [20], bytes(range(236, 256)))
    yield "signed", idx(9, [20, 2, 2], pixels), idx(9, [20], bytes(255 * (k % 2) for k in range(20)))
