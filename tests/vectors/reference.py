"""The texts whose vectors are known, and how reference.json was made of them.

`python tests/vectors/reference.py FOLDER` writes it, in an environment that has sentence-transformers: FOLDER holds the
model all-MiniLM-L6-v2 with weights of 32 bits. The tests need neither.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

FILE = Path(__file__).with_name("reference.json")
LONG = (
    "We talked for a long time about the move to Lisbon. She wants to keep the flat in Porto until June, because the "
    "contract cannot be ended earlier, and her brother may live there meanwhile. The new job starts on 3 April; it "
    "pays less, but the office is ten minutes from the sea. "
)
TEXTS = (
    "I prefer PostgreSQL over MySQL.",
    "Which database does she like best?",
    "The cat sat on the mat.",
    "a",
    "?",
    "",
    "   \t\n ",
    "Caroline went to the LGBTQ support group on 7 May 2023, and it was powerful!",
    "Don't call me before 9:30 a.m.; text me instead :-)",
    "The meeting was moved from 14:00 to 15:30 (room B-204).",
    "Total: $1,234,567.89 (incl. 19% VAT) - due 2026-11-30.",
    "user@example.org wrote: see https://example.org/a/b?c=d&e=f#g",
    "def embed(texts: list[str]) -> np.ndarray: return model.run(None, {'input_ids': ids})[0]",
    'rm -rf ~/.cache/* && echo "done" | tee /tmp/log_$(date +%s).txt',
    "Ça va très bien, merci; j'habite à Orléans, près de l'église.",
    "Die Straße nach Köln ist gesperrt, schöne Grüße aus Österreich.",
    "El niño comió jalapeños mañana en Málaga.",
    "İstanbul'da yaşıyorum ve çay içmeyi seviyorum.",
    "Tôi thích phở bò ở Hà Nội.",
    "Я живу в Москве и люблю чай.",
    "Μου αρέσει ο καφές της Αθήνας.",
    "我喜欢喝茶，不喜欢咖啡。",
    "数据库用PostgreSQL，缓存用Redis 7。",
    "請記住：我的生日是十月五日。",
    "東京に住んでいて、猫が二匹います。",
    "서울에서 커피를 마셔요.",
    "أحب القهوة في الصباح",
    "मुझे चाय पसंद है",
    "I love this 😀🎉 so much ❤️ 👩‍👩‍👧‍👦 🇵🇹",
    "zero\u200bwidth, soft\u00adhyphen, no\u00a0break, bell\u0007, and \ufffd replaced",
    "ＦＵＬＬ　ＷＩＤＴＨ and ﬁne ligatures, ½ cup, x² + y²",
    "e\u0301 combined, a\u030a\u0323 twice",
    "Pneumonoultramicroscopicsilicovolcanoconiosis is antidisestablishmentarianism for lungs.",
    "w" * 101 + " is too long to be a word",
    "MiXeD CaSe AND SHOUTING with under_scores and dash-es",
    "“Quoted” — with ‘curly’ marks… and ¿Spanish? ones«»",
    "remember\nthat\r\nlines\tbreak",
    LONG,
    LONG * 8,
    "茶" * 600,
)


def main(folder: str) -> None:
    import numpy as np
    import sentence_transformers

    model = sentence_transformers.SentenceTransformer(folder, device="cpu", local_files_only=True)
    rows = model.encode(list(TEXTS), normalize_embeddings=True).astype(np.float16)
    ids = [model.tokenizer(text, truncation=True, max_length=256)["input_ids"] for text in TEXTS]
    made = f"all-MiniLM-L6-v2, weights of 32 bits, sentence-transformers {sentence_transformers.__version__}"
    entries = [
        {"text": text, "ids": one, "vector": base64.b64encode(row.tobytes()).decode()}
        for text, one, row in zip(TEXTS, ids, rows, strict=True)
    ]
    lines = ",\n".join(json.dumps(entry, ensure_ascii=True) for entry in entries)
    FILE.write_text(f'{{"made": {json.dumps(made)}, "entries": [\n{lines}\n]}}\n', "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
