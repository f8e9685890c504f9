"""English rows for one clause: facts about the speaker, their people and the project; tastes."""

from __future__ import annotations

from typing import Final

from stenolith.distill.patterns import CORE, HEALTH, ORDINARY, SPEAKER, Table, rows
from stenolith.distill.subjects import PEOPLE_EN, TOOL
from stenolith.model.atom import Kind

_ADVERBS: Final = (
    r"(?:(?:really|generally|usually|personally|much|strongly|always|absolutely|still|also|normally|typically|"
    r"mostly|actually|honestly|do|currently|now|already|just|finally|only|truly|rather|simply|all|both|recently) )*"
)
_ME: Final = r"(?<![\w'’])(?-i:I|i)"
_AM: Final = rf"{_ME}(?:'m|’m| am)"
_HAVE: Final = rf"{_ME}(?:'ve|’ve| have)?"
# The speaker begins the clause: "the things I love" says nothing about what is loved.
_SPEAKER: Final = (
    r"(?:^|[^\w\s'’]\s*|\b(?:and|but|because|cause|since|so|as|that|why|honestly|personally|actually|though|"
    r"although|well) )(?-i:I|i)"
)
# What is liked must be a thing of its own, not this reply or something that was just shown.
_LASTING: Final = (
    r"(?!(?:that|what|where|how|when|to (?:think|see|know|say)|to$|(?:all |both )?the (?!(?-i:[A-Z])|ocean|sea|"
    r"beach|mountains?|outdoors|rain|snow|cold|summer|winter|countryside|forest|desert|smell of|taste of|"
    r"sound of))\b)(?!(?!it when)[^,.;!]*\b(?:it|them|they|this|these|those|he|she|him|his|her|their|its|you|your|"
    r"that(?=\s*(?:[,.;!]|$))|"
    r"(?:to|of|in|at|for|with) that)\b)"
)
_OBJECT: Final = r"(?P<obj>[^,.;!]{2,80})"
_JOB: Final = (
    r"(?:[\w-]+ ){0,4}(?:engineer|developer|programmer|designer|teacher|nurse|doctor|physician|lawyer|accountant|"
    r"analyst|scientist|researcher|student|manager|architect|consultant|writer|editor|journalist|photographer|chef|"
    r"plumber|electrician|founder|freelancer|sysadmin|admin|administrator|professor|lecturer|translator|musician|"
    r"pilot|pharmacist|therapist|dentist|librarian|carpenter|postdoc|sre|dba|cto|ceo|contractor)"
)
_TRAIT: Final = (
    r"(?:(?:a |an )?(?:strict |lifelong )?(?:vegetarian|vegan|pescatarian|coeliac|celiac|diabetic|teetotaller|"
    r"asthmatic)|left[- ]handed|colou?r[- ]?blind|lactose[- ]intolerant|gluten[- ]intolerant|pregnant|deaf|dyslexic|"
    r"hard of hearing|muslim|jewish|a twin)"
)
_DISEASE: Final = (
    r"(?:(?:type (?:1|2|one|two) )?diabetes|asthma|epilepsy|high blood pressure|hypertension|migraines?|"
    r"celiac disease|coeliac disease|crohn'?s|arthritis|adhd|a heart condition|ibs|gout|an? [\w ]{2,20} allergy)"
)
_KIN_NAMES: Final = (
    r"(?:older |younger |elder |little |big |ex[- ])?(?:daughter|son|wife|husband|partner|girlfriend|boyfriend|"
    r"mother|mom|mum|father|dad|sister|brother|grandmother|grandfather|grandma|grandpa|kid|baby|dog|cat|twins?)"
)
_KIN: Final = rf"\bmy (?P<s>{_KIN_NAMES})"
_PETS: Final = (
    r"(?:cats?|dogs?|rabbits?|parrots?|hamsters?|kids|children|daughters?|sons?|sisters?|brothers?|horses?|twins)"
)
_PROPERTY: Final = (
    r"(?P<a>(?:default |main |primary |target |base |release )?(?:branch|port|ssh port|database|db|package manager|"
    r"region|cluster|version|time ?zone|language|framework|queue|message broker|cache|repo(?:sitory)?|domain|"
    r"host(?:name)?|linter|formatter|ci|stack|cloud provider|test runner|build tool|frontend|backend|editor|shell|"
    r"os|operating system|bundler|orm|licen[sc]e|(?:api )?rate limit|timeout|quota|retention(?: period)?|team size|"
    r"(?:deploy(?:ment)?|release|launch|review|planning|retro|meeting|pay) day))"
)
_OWNER: Final = r"(?:(?P<s>[\w-]+(?: [\w-]+)?)(?:'s)? )??"
# A value looks like one: a digit, a capital, a dot; a plain word only at the end ("trunk", not "already in use").
_VALUE: Final = (
    r"(?=(?-i:\S*[A-Z\d./_:-]\S*)|[\w-]+\s*(?:$|[,;.]|(?:not|instead)\b))(?!(?:the (?:problem|issue|best|same)|not|"
    r"corrupt(?:ed)?|locked|stuck|empty|free|busy|taken|used|blocked|invalid|unknown|different|important|"
    r"unavailable|offline|online|ready|correct|fine|ok|okay|down|broken|slow|failing|full|up|gone|wrong|missing|"
    r"a (?:mess|pain|problem)|being|so|too|very|like|always|really|still|also|already|\w+ing)\b)(?P<v>[\w./:-]+)"
)
_CHANGED: Final = r"(?:switched|moved|migrated|changed)"
_REGULAR: Final = (
    r"(?:deploy|release|ship|meet|rotate|runs?|backs? up|syncs?|starts?|ends?|happens?|rotates?|goes? out|"
    r"takes? place|is rebuilt|is wiped|is reset)"
)
_WEEKLY: Final = (
    r"(?:every|each|once an?|twice an?|on (?:mon|tues|wednes|thurs|fri|satur|sun)days)\b(?! time| push| run| commit|"
    r" call)"
)
_NOT_THIS: Final = (
    r"(?!(?:it|this|that|these|those|them|you|one|how|why|what|about|more|hard|so|a (?:lot|ton|bunch))\b)"
)

FACTS: Final[Table] = rows(
    Kind.FACT,
    "uses|runs|listens on| on |stack|i |i'|i’|my |we |we'|we’|our |the |this |all ",
    (HEALTH, rf"{_AM} (?:(?!not\b)\w+ )?allergic to (?P<v>[^,.;]{{2,40}})", ("user", "allergy {v}")),
    (
        HEALTH,
        rf"(?:\bactually,? {_AM} not|{_AM} no longer) allergic to (?P<v>[^,.;]{{2,40}})",
        ("user", "allergy {v}"),
        True,
    ),
    (HEALTH, rf"{_HAVE} (?:had |get |suffer from )?(?:got )?{_DISEASE}\b", SPEAKER),
    (HEALTH, rf"{_KIN} (?:is (?:(?!not\b)\w+ )?allergic to|has (?:had )?{_DISEASE})\b[^,.;]*", ("user's {s}", "")),
    (
        HEALTH,
        (
            rf"{_ME} (?:can'?t|cannot) (?:eat|drink|tolerate|digest|drive|swim|fly)\b(?! any ?more| it\b| this\b|"
            r" that\b| another\b|[^.]*\b(?:tonight|today|right now|yet)\b)"
        ),
        SPEAKER,
    ),
    (HEALTH, rf"{_AM} (?:actually |also )?{_TRAIT}(?![\w-])", SPEAKER),
    (CORE, r"\bmy name(?:'s| is) (?P<v>[\w'’. -]{2,40})", ("user", "name")),
    (CORE, rf"{_KIN}(?:(?:'s|’s) name is| is (?:called|named)) [^,.;]{{2,40}}", ("user's {s}", "name")),
    (CORE, rf"\bmy (?P<s>{PEOPLE_EN}) is (?-i:[A-Z][a-z]+)(?!['’\w])", ("user's {s}", "who")),
    (
        CORE,
        (
            rf"{_HAVE} {_ADVERBS}(?:lived?|been living) in (?!a (?:bubble|world)|the (?:past|moment)|"
            rf"fear)(?P<v>[^,.;]{{2,50}})"
        ),
        ("user", "residence"),
    ),
    (
        CORE,
        (
            rf"{_AM} based in (?P<v>[^,.;]{{2,40}})|{_HAVE} {_ADVERBS}(?:moved|"
            rf"relocated) to (?P<w>(?-i:[A-Z])[^,.;]{{2,40}})"
        ),
        ("user", "residence"),
    ),
    (CORE, rf"{_AM} (?:originally )?from (?P<v>(?-i:[A-Z])[^,.;]{{2,40}})", ("user", "origin")),
    (CORE, rf"{_AM} no longer (?:at|with|working (?:at|for)) (?-i:[A-Z])[^.;]+", ("user", "employer"), True),
    (
        CORE,
        (
            rf"{_ME} {_ADVERBS}work (?:at|for) (?!home|it\b|me\b)(?P<v>[^,.;]{{2,60}})|"
            rf"{_HAVE} {_ADVERBS}joined (?P<w>(?-i:[A-Z])[\w&. -]{{1,40}})"
        ),
        ("user", "employer"),
    ),
    (
        CORE,
        rf"{_ME} {_ADVERBS}work as (?P<v>an? [^,.;]{{2,60}})|{_AM} an? (?P<w>{_JOB})\b(?! (?:of|who|too))",
        ("user", "occupation"),
    ),
    (
        CORE,
        (
            rf"{_ME} work (?:nights|weekends|part[- ]time|full[- ]time|remotely|from home|early shifts|late shifts|"
            rf"four days)\b"
        ),
        ("user", "working hours"),
    ),
    (
        CORE,
        (
            rf"{_HAVE} (?:got )?(?:a|an|one|two|three|four|five|six|\d) (?:(?!of\b)[\w-]+ ){{0,2}}{_PETS}\b"
            r"(?! (?:of|who) )"
        ),
        SPEAKER,
    ),
    (
        CORE,
        r"\bmy (?P<a>birthday|time ?zone|native language|mother tongue|blood type|shoe size|pronouns) (?:is|are)\b",
        ("user", "{a}"),
    ),
    (
        CORE,
        r"\bmy (?P<a>phone|laptop|keyboard|car|camera|editor|shell) is (?:an? |the )?(?-i:[A-Z0-9])[^,.;]+",
        ("user", "{a}"),
    ),
    (
        CORE,
        rf"{_ME} (?:also )?speak (?P<v>(?-i:[A-Z])[\w, ]+)|{_AM} \d{{1,2}}(?: years old|(?= and\b|,|\.?$))",
        SPEAKER,
    ),
    (
        ORDINARY,
        (
            rf"{_ME} (?:studied|graduated|majored|grew up|was born|was raised) {_NOT_THIS}[^,.;]+|"
            rf"{_AM} (?:currently )?(?:learning|studying|training for) {_NOT_THIS}[^,.;]+"
        ),
        SPEAKER,
    ),
    (
        ORDINARY,
        rf"{_ME} work in (?-i:[A-Z])[^,.;]+|{_ME} (?:need|have) to [^,.;]{{3,50}} (?:every|each) (?!time)\w+",
        SPEAKER,
    ),
    (ORDINARY, rf"{_ME} {_ADVERBS}(?:no longer|don'?t|do not) use (?P<tool>{TOOL})", ("user", "{tool}"), True),
    (
        ORDINARY,
        rf"{_HAVE} {_ADVERBS}{_CHANGED}(?: over| everything)?(?: from [\w. ]+?)? to (?P<tool>{TOOL})",
        ("user", "{tool}"),
        True,
    ),
    (
        ORDINARY,
        (
            rf"{_ME}(?:'ve been using| have been using| {_ADVERBS}use|'m using| am using) (?P<tool>{TOOL})"
            r"(?! (?:to|here|in this)\b)"
        ),
        ("user", "{tool}"),
    ),
    (
        ORDINARY,
        rf"\b(?:the|our) {_PROPERTY} of (?P<s>(?:the|our) [\w -]{{2,30}}?) is no longer [^,.;]+",
        ("{s}", "{a}"),
        True,
    ),
    (ORDINARY, rf"^(?:our|the) {_OWNER}{_PROPERTY} is no longer [^,.;]+", ("{s}", "{a}"), True),
    (
        ORDINARY,
        rf"^(?:our|the) {_PROPERTY} of (?P<s>(?:the|our) [\w -]{{2,30}}?) is (?:now )?{_VALUE}",
        ("{s}", "{a}"),
    ),
    (
        ORDINARY,
        (
            rf"^(?:our|the|this (?:repo|project)'s) {_OWNER}{_PROPERTY} is (?:called |named |now |at |currently |"
            rf"set to )?{_VALUE}"
        ),
        ("{s}", "{a}"),
    ),
    (ORDINARY, rf"\bwe {_ADVERBS}(?:no longer|don'?t|do not) use (?P<tool>{TOOL})", ("project", "{tool}"), True),
    (
        ORDINARY,
        (
            r"\bwe (?:no longer (?:support|maintain|run|need|deploy|ship|use) [^,.;]{2,40}|(?:don'?t|"
            r"do not) (?:support|maintain|run|need|deploy|ship|use) [^,.;]{2,40} any ?(?:more|longer))\b"
        ),
        ("project", ""),
        True,
    ),
    (
        ORDINARY,
        rf"\bwe(?:'ve| have)? {_ADVERBS}{_CHANGED} (?:(?:everything|our \w+) )?(?:from [\w. ]+? )?to (?P<tool>{TOOL})",
        ("project", "{tool}"),
        True,
    ),
    (
        ORDINARY,
        rf"\bwe(?:'ve| have)? {_ADVERBS}{_CHANGED} (?:[\w ]+? )?from {_NOT_THIS}[\w.-]+(?: [\w.-]+)? to [^,.;]+",
        ("project", ""),
        True,
    ),
    (
        ORDINARY,
        (
            r"^(?:since \w+(?: \d+)?,? )?(?P<s>(?!(?:I|my|it|this|that|he|she|they|you|who|your|"
            r"what)\b)[\w-]+(?: [\w-]+){0,3}?) "
            rf"(?:now |still |currently )?(?:uses|runs|listens on|is (?:now |still )?on) (?:{TOOL}|"
            rf"(?:[a-z]+ )?\d[\w.]*$)"
        ),
        ("{s}", ""),
    ),
    (
        ORDINARY,
        rf"^(?:(?:our|the) )?(?:tech )?stack ?(?::|is\b|includes\b)[^.]*?{TOOL}",
        ("project", "stack"),
    ),
    (
        ORDINARY,
        (
            rf"\bwe {_ADVERBS}(?:deploy|build|test|monitor|track|manage|lint|format|package|ship|host|plan) (?:\w+ )?"
            r"(?:with|via|using|through|on|in|to) (?!I\b)(?-i:[A-Z])\w+"
        ),
        ("project", ""),
    ),
    (ORDINARY, r"^our (?:customers|users|clients) are (?:mostly|mainly|all|primarily) [^,.;]+", ("project", "")),
    (
        ORDINARY,
        (
            rf"{_AM} trying to (?:cut|quit|stop|eat|drink|lose|save|sleep) [^,.;]+|"
            rf"{_AM} (?:not )?an? [\w -]{{2,20}} (?:person|parent|owner|native|lover)\b|"
            rf"{_ME} (?:can'?t|don'?t|never|only) (?:do|work|work on|take meetings on|have meetings on) "
            r"(?:mon|tues|wednes|thurs|fri|satur|sun)days\b"
        ),
        SPEAKER,
    ),
    (ORDINARY, rf"{_ME} (?:drive|own|ride) (?:a|an|two) (?P<v>[^,.;]{{3,40}})", SPEAKER),
    (
        ORDINARY,
        (
            rf"{_ME} (?:get up|wake up|go to bed|run|swim|meditate|work out|cycle|go to the gym|train) "
            r"(?:at|every|each|on) [^,.;]{2,40}"
        ),
        SPEAKER,
    ),
    (
        ORDINARY,
        (
            rf"\b(?:we|our (?P<s>[\w -]{{2,30}}?)) {_ADVERBS}(?:use|uses|run on|runs on|run|deploy to|deploys to|"
            rf"build with|"
            r"is built (?:on|with)|is written in|are written in|is hosted on|are on)\s(?:a |an )?"
            rf"(?P<tool>{TOOL})(?! (?:here|to test)\b)"
        ),
        ("{s}", "{tool}"),
    ),
    (
        ORDINARY,
        rf"\bwe(?:'re| are) on (?P<tool>{TOOL})|\bour (?P<s>[\w -]{{2,30}}?) is (?:a |an )?{TOOL}",
        ("{s}", "{tool}"),
    ),
    (
        ORDINARY,
        rf"\b(?:we|(?P<s>(?:our|the) [\w -]{{2,30}}?)) {_REGULAR}(?: [\w ]{{2,20}})?? {_WEEKLY}",
        ("{s}", ""),
    ),
    (
        ORDINARY,
        (
            r"^(?P<s>(?:the|our) [\w -]{2,24} (?:team|group|squad)) (?:owns?|maintains?|is responsible for|"
            r"approves?|handles?|reviews?) [^,.;]+"
        ),
        ("{s}", ""),
    ),
    (
        ORDINARY,
        (
            r"^(?P<s>(?:the|our|all(?: our| the)?) [\w -]{3,40}?) (?:lives? in|runs? (?:on|in)|is hosted (?:on|in|"
            r"at)|listens on|is deployed (?:to|on)|is written in|is (?:served|fronted) (?:from|"
            r"by)) (?!my\b|\d[\d.]* ?(?:ms|s|sec\w*|min\w*|hours?)\b)(?=[^,;]*(?-i:[A-Z\d]|-))(?P<v>[\w./: -]{2,40})"
        ),
        ("{s}", ""),
    ),
)

PREFERENCES: Final[Table] = rows(
    Kind.PREFERENCE,
    "prefer|favo|like|love|enjoy|adore|hate|loathe|detest|stand|fan of|fond|into|keen|partial|never|always|only|"
    "usually|normally|generally|don't|dont |do not|no longer|want|my coffee|my tea|my eggs|my steak",
    (
        CORE,
        (
            r"\bI(?:'d|’d| would)? prefer (?:it if )?(?:you|your answers)(?: to)? (?:always )?(?:answer|reply|"
            r"respond|write|explain|keep|use|speak)\b[^,;]*"
        ),
        SPEAKER,
    ),
    (ORDINARY, rf"{_SPEAKER} {_ADVERBS}(?:prefer|favou?r) {_LASTING}{_OBJECT}", SPEAKER),
    (
        ORDINARY,
        (
            rf"{_SPEAKER} {_ADVERBS}(?:like|love|enjoy|adore|hate|dislike|loathe|detest|can'?t stand|cannot stand|"
            rf"don'?t (?:really )?(?:like|enjoy)|do not (?:like|enjoy)) {_LASTING}{_OBJECT}"
        ),
        ("user", "taste: {obj}"),
    ),
    (
        ORDINARY,
        (
            rf"{_SPEAKER}(?:'m|’m| am) (?:not )?(?:really )?(?:a |an )?(?:big |huge |great )?(?:fan of|fond of|into|"
            rf"keen on|partial to|not into) {_LASTING}{_OBJECT}"
        ),
        ("user", "taste: {obj}"),
    ),
    (ORDINARY, rf"{_SPEAKER} (?:drink|take|like) my (?:coffee|tea|eggs|steak) [^,.;]+", SPEAKER),
    (
        ORDINARY,
        (
            rf"{_SPEAKER} (?:never|always|only|usually|don'?t|do not|no longer) "
            r"(?:eat|drink|wear|read|take|watch|smoke|listen to|cook) "
            rf"(?!it\b|this\b|that\b|part\b|place\b|no for|anything|any more|much\b){_OBJECT}"
        ),
        ("user", "taste: {obj}"),
    ),
    (
        ORDINARY,
        (
            rf"{_SPEAKER} (?:always|usually|normally|generally) (?:use|write|start|work|keep|run) (?!it\b|this\b|"
            rf"that\b|out\b|to\b|up\b|hard\b){_OBJECT}"
        ),
        SPEAKER,
    ),
    (
        CORE,
        r"\bmy favou?rite (?P<a>(?!one\b|part\b|thing\b)[\w-]+(?: [\w-]+)?) (?:is|are|has always been)\b",
        ("user", "favourite {a}"),
    ),
    (
        CORE,
        (
            rf"{_SPEAKER}(?: want|'d like|’d like| would like) (?:all )?(?:your )?"
            r"(?:answers?|replies|responses|explanations)\b[^,.;]+"
        ),
        SPEAKER,
    ),
)

TABLES: Final = (FACTS, PREFERENCES)
