"""Tell real secrets behind a word like "password" from prose and code.

Two mistakes are possible.  Missing a secret puts it on the disk for ever; taking a type name, a
variable or the rest of a sentence for one damages a transcript.  The functions here lean to the
first side for words that name a password, and to the second for words such as "token".
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STOPPERS: Final = _words(
    """
    a an and any are as at be been bool but by bytearray bytes callable can cannot changed check column
    correct could default dict dir does each either empty encrypted enter env exactly expired expires false
    field fields first for from great has hash hashed have here hidden how if in incorrect input int integer
    invalid is it its just key least length list long longer match may maybe missing more must my name needed
    never new no none not now null number object of ok old only optional or other our own pass passphrase
    passwd password password_hash passwords plain plaintext please private protected public pwd required reset
    right same secret secretstr set shared shell short should shown so some something str string strong stuff
    such text that the their them then there they this token too true two type undefined unique unknown unset
    until updated used user username valid value varchar very via was we weak what when where which who why
    will with without wrong yes you your
    """
)
_ALGORITHM: Final = re.compile(
    r"(?:sha-?\d+|md5|bcrypt|scrypt|argon2(?:id|i|d)?|pbkdf2(?:[-_]\w+)?|aes(?:-?\d+)?(?:-\w+)?|rsa(?:-?\d+)?|hs256|rs256"
    r"|base64|utf-?8|oauth-?2?(?:\.\d)?|openid|jwt|json|yaml|toml|uuid(?:v?\d)?|otp|totp|mfa|2fa|sso|ldap|hmac\S*)",
    re.IGNORECASE,
)
_STAND_IN: Final = re.compile(
    r"\[?REDACTED|<|\$|\{|%[({]|(?:your|my|the|some|example|sample|dummy|fake|placeholder|changeme|insert|enter|replace)"
    r"(?:[-_ ]|$)|\*{2,}|\.{3}|…",
    re.IGNORECASE,
)
_NAME_WORDS: Final = _words(
    """
    arg args auth conf config credential credentials ctx current data env field form get getenv hash hashed id
    input key new old opts os param params pass passphrase passwd password process pwd raw request secret self
    settings str token user username val value var
    """
)
_PROSE_ENDING: Final = re.compile(r"(?:ed|ing|able|ible|less|ful|ive|al|ent|ant|ary|ous|ly|ic|ise|ize|ory)$")
_PATH: Final = re.compile(r"~?(?:\.{0,2}/[\w.@-]*)+|[A-Za-z]:\\.*")
_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_CALL: Final = re.compile(r"[A-Za-z_][\w.]*[(\[]")
_SEGMENT: Final = re.compile(r"[A-Z]?[a-z]+\d{0,3}|[A-Z]+\d{0,3}|\d{1,4}")
_PIECE: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX: Final = re.compile(r"[0-9a-f]+|[0-9A-F]+")


def entropy(value: str) -> float:
    """Return the Shannon entropy of *value* in bits a character (0 for an empty text)."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())


def is_stand_in(value: str) -> bool:
    """Say whether *value* only holds the place of a secret: a type, ``<token>``, ``$VAR``, stars, a word of prose."""
    if "[REDACTED" in value or _STAND_IN.match(value):
        return True
    folded = value.strip("\"'`.,;:!?)]}").casefold()
    return folded in _STOPPERS or not folded.strip("x*.-_#•") or _ALGORITHM.fullmatch(folded) is not None


def is_reference(value: str) -> bool:
    """Say whether *value* points to a secret instead of being one: a path, a call, a variable."""
    if _PATH.fullmatch(value) or _CALL.match(value) or _DOTTED.fullmatch(value):
        return True
    words = [word.casefold() for word in _WORDS.findall(value)]
    made_of_words = "".join(words) == re.sub(r"[_-]", "", value).casefold()
    return made_of_words and any(word in _NAME_WORDS for word in words)


def reads_as_name(value: str) -> bool:
    """Say whether *value* is made of words, versions and short numbers, as identifiers and file names are."""
    parts = [part for part in re.split(r"[_./\-]", value) if part]
    if len(parts) > 1 and all(_SEGMENT.fullmatch(part) for part in parts):
        return True
    words = [piece for piece in _PIECE.findall(value) if piece.isalpha()]
    camel = value != value.lower() and value != value.upper()
    return camel and sum(map(len, words)) >= 4 * len(words)


def is_password(value: str, *, before_word: bool) -> bool:
    """Judge an unquoted value behind ``password=`` or ``password:``.

    *before_word* says that another word follows: letters alone are then the start of a sentence.
    """
    if len(value) < 4 or is_stand_in(value) or is_reference(value):
        return False
    return not (before_word and value.isalpha())


def is_stated_password(value: str, *, before_word: bool) -> bool:
    """Judge the value in "the password is …", where an adjective is as likely as a secret."""
    if not is_password(value, before_word=before_word):
        return False
    if not value.isalpha():
        return True
    return len(value) >= 6 and _PROSE_ENDING.search(value.casefold()) is None


def is_bare_password(value: str) -> bool:
    """Judge the value in "with password …": only what no word of a sentence looks like."""
    if len(value) < 6 or is_stand_in(value) or is_reference(value):
        return False
    digit = any(sign.isdigit() for sign in value)
    symbol = any(sign in "!@#$%^&*+?~|" for sign in value[:-1])
    mixed = len(value) >= 8 and value != value.lower() and value != value.upper()
    return digit and any(sign.isalpha() for sign in value) and (symbol or mixed)


def is_token(value: str, *, at_least: int) -> bool:
    """Judge the value of a token or key: long enough, letters and digits, and not a name."""
    if len(value) < at_least or is_stand_in(value) or is_reference(value) or reads_as_name(value):
        return False
    digits = sum(sign.isdigit() for sign in value)
    if not digits or not any(sign.isalpha() for sign in value):
        return False
    return entropy(value) >= (2.5 if digits > 1 else 3.8)


def is_random(value: str) -> bool:
    """Judge a value behind the bare word "key": random letters of both cases, and no known identifier form."""
    if _UUID.fullmatch(value) or _HEX.fullmatch(value) or not is_token(value, at_least=20):
        return False
    return value != value.lower() and value != value.upper() and entropy(value) >= 3.5
