"""Parquet files that nobody should write, by name (pyarrow)."""

import datetime
import decimal
import io
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N = 60
Y = [k % 3 % 2 for k in range(N)]
A = [k * 37 % 101 / 10 for k in range(N)]


def written(columns, names=None, **options):
    """The bytes of a table of these columns."""
    names = names or list(columns)
    table = pa.table([pa.array(column) if isinstance(column, list) else column for column in columns.values()], names=names)
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def typed():
    """Columns of every type there is."""
    whole = [k % 13 for k in range(N)]
    yield "int8", pa.array(whole, pa.int8())
    yield "uint64-large", pa.array([2**64 - 1 - k for k in whole], pa.uint64())
    yield "int64-large", pa.array([2**63 - 1 - k for k in whole], pa.int64())
    yield "float16", pa.array(np.array(whole, np.float16))
    yield "float-nan", pa.array([float("nan")] * N)
    yield "float-inf", pa.array([float("inf")] * N)
    yield "float-subnormal", pa.array([k * 5e-324 for k in whole])
    yield "decimal", pa.array([decimal.Decimal(k) for k in whole], pa.decimal128(38, 2))
    yield "decimal256", pa.array([decimal.Decimal(k) for k in whole], pa.decimal256(76, 2))
    yield "timestamp-ns", pa.array([k * 10**18 for k in range(N) if k < 9] + [0] * (N - 9), pa.timestamp("ns"))
    yield "timestamp-zone", pa.array(whole, pa.timestamp("us", tz="Asia/Kathmandu"))
    yield "date32-far", pa.array([2**31 - 1 - k for k in whole], pa.date32())
    yield "date64", pa.array([datetime.date(2024, 1, 1 + k) for k in whole], pa.date64())
    yield "time", pa.array(whole, pa.time64("ns"))
    yield "duration", pa.array(whole, pa.duration("s"))
    yield "boolean-null", pa.array([None, True, False] * (N // 3))
    yield "all-null", pa.array([None] * N, pa.float64())
    yield "null-type", pa.nulls(N)
    yield "binary", pa.array([bytes([k, 255]) for k in whole])
    yield "fixed-binary", pa.array([bytes([k] * 16) for k in whole], pa.binary(16))
    yield "text-nul", pa.array([f"a\0{k}" for k in whole])
    yield "text-escape", pa.array([f"\x1b[31m{k}" for k in whole])
    yield "text-long", pa.array(["x" * 100_000 + str(k % 2) for k in whole])
    yield "text-numbers", pa.array([f"{k}" for k in whole])
    yield "large-text", pa.array([f"t{k}" for k in whole], pa.large_string())
    yield "dictionary", pa.array([f"t{k}" for k in whole]).dictionary_encode()
    yield "dictionary-unused", pa.DictionaryArray.from_arrays(pa.array([k % 2 for k in range(N)]), pa.array([f"c{k}" for k in range(50_000)]))
    yield "list", pa.array([[k, k] for k in whole])
    yield "list-empty", pa.array([[] for _ in whole], pa.list_(pa.int32()))
    yield "struct", pa.array([{"p": k, "q": {"r": k}} for k in whole])
    yield "map", pa.array([[("k", k)] for k in whole], pa.map_(pa.string(), pa.int64()))
    deep = pa.array(whole)
    for _ in range(70):
        deep = pa.StructArray.from_arrays([deep], ["d"])
    yield "deep", deep
    lists = pa.array(whole)
    for _ in range(30):
        lists = pa.ListArray.from_arrays(pa.array(list(range(N + 1)), pa.int32()), lists)
    yield "deep-lists", lists


def files(_folder):
    good = written({"a": A, "b": A[::-1], "y": Y})
    yield "good", good
    for name, column in typed():
        try:
            yield f"feature {name}", written({"a": column, "b": A, "y": Y})
            yield f"label {name}", written({"a": A, "b": A, "y": column})
        except pa.ArrowException:
            continue
    yield "no-rows", written({"a": pa.array([], pa.float64()), "b": pa.array([], pa.float64()), "y": pa.array([], pa.int64())})
    yield "no-columns", written({})
    yield "one-column", written({"y": Y})
    yield "same-names", written({"a": A, "b": A, "y": Y}, ["a", "a", "y"])
    yield "empty-names", written({"a": A, "b": A, "y": Y}, ["", "", ""])
    yield "long-name", written({"a": A, "b": A, "y": Y}, ["n" * 1_000_000, "b", "y"])
    yield "control-name", written({"a": A, "b": A, "y": Y}, ["\x1b]0;owned\x07", "b", "y"])
    yield "many-groups", written({"a": A * 50, "b": A * 50, "y": Y * 50}, row_group_size=1)
    yield "many-columns", written({**{f"c{k}": A for k in range(5000)}, "y": Y})
    for packing in ("snappy", "gzip", "zstd", "lz4", "brotli", "none"):
        yield f"packed-{packing}", written({"a": A * 100, "b": A * 100, "y": Y * 100}, compression=packing)
    yield "version-1", written({"a": A, "b": A, "y": Y}, version="1.0", data_page_version="1.0")
    yield "pages-2", written({"a": A, "b": A, "y": Y}, data_page_version="2.0")
    yield "byte-split", written({"a": A, "b": A, "y": Y}, use_dictionary=False, column_encoding={"a": "BYTE_STREAM_SPLIT", "b": "PLAIN", "y": "PLAIN"})
    yield "delta", written({"a": A, "b": A, "y": Y}, use_dictionary=False, column_encoding={"y": "DELTA_BINARY_PACKED", "a": "PLAIN", "b": "PLAIN"})
    yield "dictionary-a-million", written({"a": pa.array([f"{k}" for k in range(1_100_000)]), "y": [k % 2 for k in range(1_100_000)]})
    yield "one-value-often", written({"a": pa.array(np.zeros(3_000_000)), "b": pa.array(np.zeros(3_000_000)), "y": pa.array(np.arange(3_000_000) % 2)})
    footer = struct.unpack("<I", good[-8:-4])[0]
    for name, length in (("zero", 0), ("huge", 2**32 - 1), ("negative", 2**31), ("more", footer + 1), ("less", footer - 1), ("file", len(good))):
        yield f"footer-{name}", good[:-8] + struct.pack("<I", length) + good[-4:]
    yield "encrypted", good[:-4] + b"PARE"
    yield "front-only", b"PAR1" + bytes(100)
    yield "magic-twice", b"PAR1PAR1"
    yield "magic-once", b"PAR1"
    yield "half", good[: len(good) // 2]
    yield "no-data", b"PAR1" + good[-8 - footer:]
    yield "after", good + b"\n"
    yield "zeros-inside", good[:4] + bytes(len(good) - 12 - footer) + good[-8 - footer:]
    yield "feather", (lambda out: (pa.feather.write_feather(pa.table({"a": A, "y": Y}), out), out.getvalue())[1])(io.BytesIO()) if hasattr(pa, "feather") else b"ARROW1"
    # Large numbers where the footer has small ones: sizes, counts, places.
    meta = len(good) - 8 - footer
    for k in range(0, footer, max(1, footer // 60)):
        for value in (b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"):
            yield f"number-at-{k}-{len(value)}", good[: meta + k] + value + good[meta + k + len(value):]
