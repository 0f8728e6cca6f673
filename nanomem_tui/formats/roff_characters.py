"""The characters that roff writes by name, and the strings that macro packages define. Values only."""

from __future__ import annotations

_NAMES = (
    "aq ' dq \" lq “ rq ” oq ‘ cq ’ Bq „ bq ‚ Fo « Fc » fo ‹ fc › ga ` aa ´ ha ^ ti ~ rs \\ ba | br | or | sl / hy - "
    "en – em — mi − pl + mu × di ÷ ** * bu • ci ○ sq □ dg † dd ‡ ps ¶ sc § lh ☜ rh ☞ at @ sh # Cs ¤ Do $ ct ¢ Po £ "
    "Ye ¥ Eu € de ° co © rg ® tm ™ fm ′ sd ″ 12 ½ 14 ¼ 34 ¾ S1 ¹ S2 ² S3 ³ <- ← -> → ua ↑ da ↓ <> ↔ lA ⇐ rA ⇒ hA ⇔ "
    "eq = ne ≠ == ≡ =~ ≅ ap ∼ ~~ ≈ <= ≤ >= ≥ << ≪ >> ≫ +- ± -+ ∓ if ∞ es ∅ mo ∈ no ¬ AN ∧ OR ∨ fa ∀ te ∃ sr √ is ∫ "
    "su ∑ pr ∏ pd ∂ gr ∇ ca ∩ cu ∪ sb ⊂ sp ⊃ ib ⊆ ip ⊇ lB [ rB ] lC { rC } la ⟨ ra ⟩ lc ⌈ rc ⌉ lf ⌊ rf ⌋ ul _ rn ‾ "
    "*a α *b β *g γ *d δ *e ε *z ζ *y η *h θ *i ι *k κ *l λ *m μ *n ν *c ξ *o ο *p π *r ρ *s σ *t τ *u υ *f φ *x χ "
    "*q ψ *w ω *A Α *B Β *G Γ *D Δ *E Ε *H Θ *L Λ *P Π *S Σ *F Φ *Q Ψ *W Ω mc µ ss ß AE Æ ae æ OE Œ oe œ /O Ø /o ø "
    "oA Å oa å :A Ä :a ä :E Ë :e ë :I Ï :i ï :O Ö :o ö :U Ü :u ü :y ÿ 'A Á 'a á 'E É 'e é 'I Í 'i í 'O Ó 'o ó 'U Ú "
    "'u ú 'y ý 'c ć 'C Ć `A À `a à `E È `e è `I Ì `i ì `O Ò `o ò `U Ù `u ù ^A Â ^a â ^E Ê ^e ê ^I Î ^i î ^O Ô ^o ô "
    "^U Û ^u û ~A Ã ~a ã ~N Ñ ~n ñ ~O Õ ~o õ ,C Ç ,c ç vs š vS Š vz ž vZ Ž /L Ł /l ł -D Ð Sd ð TP Þ Tp þ r! ¡ r? ¿ "
    "Of ª Om º OK ✓ CL ♣ SP ♠ HE ♥ DI ♦ lz ◊ a~ ~ a^ ^ ac ¸ ad ¨ ao ˚ a- ¯ ff ff fi fi fl fl Fi ffi Fl ffl lt < gt >"
).split()

CHARACTERS = dict(zip(_NAMES[::2], _NAMES[1::2], strict=True))
"""What stands for a character between `\\(` or in `\\[…]`."""

PLAIN = {"lq": "“", "rq": "”", "R": "®", "Tm": "™", "S": "", "Aq": "'", "q": '"', "Lq": "“", "Rq": "”", "Lt": "<",
         "Gt": ">", "Le": "≤", "Ge": "≥", "Ne": "≠", "Am": "&", "Ba": "|", "Pm": "±", "If": "∞", "Pi": "π"}  # fmt: skip
"""The strings that a page may use without having defined them."""
