"""Skills on copies of the passwd and group files of a machine: users, shells, homes, ids, members."""

from __future__ import annotations

from collections import Counter

from edgeevo.environments.scenarios import HOUR, Maker
from edgeevo.environments.skills import Draw, Kind, Lines, NoInstanceError, Params, entry
from edgeevo.environments.world import World, text

START, LINES, VALUE = Kind.START, Kind.LINES, Kind.VALUE

SHELLS = ("/bin/bash", "/bin/bash", "/bin/sh", "/usr/bin/zsh", "/usr/sbin/nologin")
SYSTEM = ("daemon:x:1:1:daemon:/usr/sbin", "bin:x:2:2:bin:/bin", "mail:x:8:8:mail:/var/mail", "www-data:x:33:33:www-data:/var/www", "nobody:x:65534:65534:nobody:/nonexistent")
FIELDS = {"home directory": "6", "login shell": "7", "user id": "3", "group id": "4"}
GROUPS = ("video", "audio", "docker", "adm", "plugdev", "www", "dialout")
NO_LOGIN = ("/usr/sbin/nologin", "/bin/false")


def _people(d: Draw, low: int, high: int) -> list[str]:
    maker = Maker(d.rng, d.split, ())
    people = list(dict.fromkeys(maker.person() for _ in range(30)))[: d.rng.randint(low, high)]
    return [a for a in people if not any(a != b and a in b for b in people)]  # no name inside of another


def _passwd(d: Draw) -> Params:
    rng = d.rng
    lines = ["root:x:0:0:root:/root:/bin/bash"]
    lines += [f"{line}:{rng.choice(NO_LOGIN)}" for line in rng.sample(SYSTEM, rng.randint(2, 4))]
    uid = 1000
    for person in _people(d, 5, 10):
        lines.append(f"{person}:x:{uid}:{rng.choice((uid, uid, 100))}:{person.capitalize()}:{rng.choice(('/home', '/home', '/srv/home'))}/{person}:{rng.choice(SHELLS)}")
        uid += rng.randint(1, 40)
    return {"file": d.place(rng.choice(("passwd", "passwd.bak", "passwd.txt", "passwd.copy")), text(lines, age_seconds=rng.randint(1, 20) * HOUR + 1800))}


def _group(d: Draw) -> Params:
    rng, people = d.rng, _people(d, 5, 8)
    gid, lines = 20, ["root:x:0:"]
    for group in rng.sample(GROUPS, rng.randint(4, 6)):
        gid += rng.randint(1, 30)
        lines.append(f"{group}:x:{gid}:{','.join(rng.sample(people, rng.randint(0, 4)))}")
    return {"file": d.place(rng.choice(("group", "group.bak", "group.txt", "group.copy")), text(lines, age_seconds=rng.randint(1, 20) * HOUR + 1800))}


def accounts(w: World, p: Params) -> list[Lines]:
    """The records of the file, cut at the colons."""
    return [line.split(":") for line in w.lines(p["file"])]


def _shell(d: Draw) -> Params:
    p = _passwd(d)
    return p | {"shell": d.pick(sorted({row[6] for row in accounts(d.world, p)}))}


def _limit(d: Draw) -> Params:
    p = _passwd(d)
    ids = sorted(int(row[2]) for row in accounts(d.world, p))
    return p | {"limit": d.pick(str(v) for v in (*ids[2:-1], 1000) if v < ids[-1])}


def _user(d: Draw) -> Params:
    p, what = _passwd(d), d.rng.choice(sorted(FIELDS))
    return p | {"user": d.pick(row[0] for row in accounts(d.world, p)), "what": what, "field": FIELDS[what]}


def _members(d: Draw) -> Params:
    p = _group(d)
    return p | {"group": d.pick(row[0] for row in accounts(d.world, p) if "," in row[3])}


def _member(d: Draw) -> Params:
    p = _group(d)
    return p | {"user": d.pick(sorted({user for row in accounts(d.world, p) for user in row[3].split(",") if user}))}


def _several_shells(d: Draw) -> Params:
    p = _passwd(d)
    if len({row[6] for row in accounts(d.world, p)}) < 2:
        raise NoInstanceError
    return p


entry(
    "users", START, LINES, draw=_passwd, reference=lambda w, x, p: [row[0] for row in accounts(w, p)],
    ways=("cut -d: -f1 {file}", "awk -F: '{print $1}' {file}", "sed 's/:.*//' {file}"),
    asks=("list the user names in the passwd file {file}", "which users are in {file}? it is a copy of /etc/passwd", "print just the login names from the passwd file {file}", "{file}: all user names of this passwd file", "show the names of all accounts in the passwd copy {file}", "extract the first colon separated field of the passwd file {file}",
          "i need every user name from the passwd file {file}, one per line", "names of the users in the passwd file {file}", "get the accounts out of the passwd file {file}, names only", "who has an account according to the passwd file {file}?"),
    nouns=("the user names in the passwd file {file}", "the names of the accounts that the passwd copy {file} has", "the login names from the passwd file {file}", "the users that the passwd file {file} lists", "the first fields of the passwd file {file}"),
)
entry(
    "users_with_shell", START, LINES, draw=_shell, reference=lambda w, x, p: [row[0] for row in accounts(w, p) if row[6] == p["shell"]],
    ways=("grep ':{shell:raw}$' {file} | cut -d: -f1", "awk -F: '$7==\"{shell:raw}\"{print $1}' {file}"),
    asks=("which users in the passwd file {file} have the shell {shell}?", "list the names of the users whose login shell is {shell}, passwd file {file}", "print the accounts in the passwd file {file} that use {shell}, names only", "{file}: user names with the shell {shell} in this passwd file", "find everybody with {shell} as shell in the passwd copy {file}, just the names",
          "show the login names from the passwd file {file} that end in the shell {shell}", "i need the users of the shell {shell} from the passwd file {file}", "who has {shell} as login shell according to the passwd file {file}?", "names of all users with shell {shell} in the passwd file {file}", "filter the passwd file {file} for the shell {shell} and give the user names"),
    nouns=("the users with the shell {shell} in the passwd file {file}", "the names of the accounts in the passwd file {file} that use {shell}", "the login names in the passwd copy {file} whose shell is {shell}", "the user names with {shell} as login shell in the passwd file {file}", "all users in the passwd file {file} that have the shell {shell}"),
)
entry(
    "users_above", START, LINES, draw=_limit, reference=lambda w, x, p: [row[0] for row in accounts(w, p) if int(row[2]) > int(p["limit"])],
    ways=("awk -F: '$3>{limit:raw}{print $1}' {file}", "perl -F: -lane 'print $F[0] if $F[2]>{limit:raw}' {file}"),
    asks=("which users in the passwd file {file} have a uid above {limit}?", "list the user names with a user id greater than {limit} from the passwd file {file}", "print the accounts of the passwd file {file} whose UID is over {limit}, names only", "{file}: names in this passwd file with uid > {limit}", "find the users with an id higher than {limit} in the passwd copy {file}",
          "show the login names from the passwd file {file} where the third field is more than {limit}", "i need all users above uid {limit} in the passwd file {file}, just their names", "names of users whose uid exceeds {limit}, passwd file {file}", "who has a uid larger than {limit} according to the passwd file {file}?", "get the users of the passwd file {file} with UIDs bigger than {limit}, one name per line"),
    nouns=("the users with a uid above {limit} in the passwd file {file}", "the account names of the passwd file {file} that have a UID over {limit}", "the user names with a user id greater than {limit} in the passwd copy {file}", "the login names in the passwd file {file} with uid > {limit}", "all users of the passwd file {file} whose uid exceeds {limit}"),
)
entry(
    "user_field", START, VALUE, draw=_user, reference=lambda w, x, p: [row[int(p["field"]) - 1] for row in accounts(w, p) if row[0] == p["user"]],
    ways=("grep '^{user:raw}:' {file} | cut -d: -f{field:raw}", "awk -F: '$1==\"{user:raw}\"{print ${field:raw}}' {file}"),
    asks=("what is the {what} of the user {user} in the passwd file {file}?", "print the {what} of {user}, passwd file {file}", "look up {user} in the passwd file {file} and show the {what}", "{file}: {what} of user {user} in this passwd file", "find the {what} that the passwd copy {file} has for {user}", "which {what} does {user} have according to the passwd file {file}?",
          "i need the {what} of the account {user} from the passwd file {file}", "get only the {what} of {user} out of the passwd file {file}", "tell me the {what} of user {user}, it is in the passwd file {file}", "extract the {what} for {user} from the passwd file {file}"),
    nouns=("the {what} that {user} has by the passwd file {file}", "the {what} that the passwd file {file} has for {user}", "the {what} given for {user} by the passwd copy {file}", "the {what} belonging to {user} in the passwd file {file}", "only the {what} of {user} according to the passwd file {file}"),
)
entry(
    "users_login", START, LINES, draw=_passwd, reference=lambda w, x, p: [row[0] for row in accounts(w, p) if row[6] not in NO_LOGIN],
    ways=("grep -Ev '(nologin|false)$' {file} | cut -d: -f1", "awk -F: '$7!~/(nologin|false)$/{print $1}' {file}"),
    asks=("which users in the passwd file {file} can log in, that is have a shell other than nologin and false?", "list the user names from the passwd file {file} whose shell is neither nologin nor false", "print the accounts with a real login shell in the passwd file {file}, not nologin or false, names only", "{file}: users of this passwd file without those that have nologin or false as shell",
          "leave out users with nologin or false as shell and show the other names of the passwd file {file}", "find the users with a real shell (no nologin, no false) in the passwd copy {file}, just names", "i need the names in the passwd file {file} that don't have nologin or false for a shell", "who may log in according to the passwd file {file}? skip shells nologin and false",
          "show all login names of the passwd file {file} except the ones with a nologin or false shell", "get the users of the passwd file {file} who have a proper shell, neither nologin nor false"),
    nouns=("the users in the passwd file {file} whose shell is neither nologin nor false", "the names of the accounts with a real login shell (no nologin or false) in the passwd file {file}", "the login names from the passwd copy {file} with a shell other than nologin and false", "the users of the passwd file {file} that can log in (shell not nologin or false)",
           "all names in the passwd file {file} except those with a nologin or false shell"),
)
entry(
    "shells_tally", START, LINES, draw=_several_shells, unordered=True, pads=True, reference=lambda w, x, p: [f"{c} {k}" for k, c in sorted(Counter(row[6] for row in accounts(w, p)).items())],
    ways=("cut -d: -f7 {file} | sort | uniq -c", "awk -F: '{c[$7]++}END{for(k in c)print c[k],k}' {file}"),
    asks=("count the users per login shell in the passwd file {file}, count first", "how many accounts use each shell in the passwd file {file}? count and shell", "tally the shells of the passwd file {file}", "{file}: number of users for every shell in this passwd file, count first", "show each login shell in the passwd file {file} with the number of users who have it in front",
          "group the users of the passwd copy {file} by shell and count them", "for every shell in the passwd file {file} print its count and name", "i need the number of accounts per shell, passwd file {file}, counts in front", "which shells are in use in the passwd file {file} and how often? count first", "get count and shell for the accounts in the passwd file {file}"),
    nouns=("the number of users per login shell in the passwd file {file}, count first", "the counts of the shells in the passwd file {file}", "a tally of the login shells in the passwd copy {file}", "how many accounts each shell has by the passwd file {file}, count first", "count and name of every shell used in the passwd file {file}"),
)
entry(
    "group_members", START, LINES, draw=_members, reference=lambda w, x, p: [user for row in accounts(w, p) if row[0] == p["group"] for user in row[3].split(",")],
    ways=("grep '^{group:raw}:' {file} | cut -d: -f4 | tr , '\\n'", "awk -F: '$1==\"{group:raw}\"{gsub(\",\",\"\\n\",$4);print $4}' {file}", "sed -n 's/^{group:raw}:.*://p' {file} | tr , '\\n'"),
    asks=("who is in the group {group} according to the group file {file}? one name per line", "list the members of the group {group} from the group file {file}, one per line", "print each member of {group} on its own line, group file {file}", "{file}: members of group {group} in this group file, a line each", "show the users that belong to the group {group} in {file}, a copy of /etc/group, one a line",
          "look up {group} in the group file {file} and print its members line by line", "which users does the group {group} have in the group file {file}? one on each line", "i need the members of {group} one per line, from the group file {file}", "get the user names of the group {group} out of the group file {file}, line by line", "members of the group {group} in the group file {file}, each on a separate line"),
    nouns=("the members of the group {group} in the group file {file}, one per line", "the users that belong to {group} according to the group file {file}", "the names of those in the group {group} by the group file {file}, a line each", "the user names in the group {group} of the group file {file}", "the members that the group file {file} lists for the group {group}"),
)
entry(
    "groups_of_user", START, LINES, draw=_member, reference=lambda w, x, p: [row[0] for row in accounts(w, p) if p["user"] in row[3].split(",")],
    ways=("grep -w {user} {file} | cut -d: -f1", "awk -F'[:,]' '{for(i=4;i<=NF;i++)if($i==\"{user:raw}\")print $1}' {file}"),
    asks=("which groups is {user} a member of in the group file {file}?", "list the groups that have {user} among their members, group file {file}", "print the names of the groups of the user {user} from the group file {file}", "{file}: groups that list {user} in this group file", "show in which groups of the group file {file} the user {user} is", "find all groups with {user} as a member in {file}, a copy of /etc/group, names only",
          "i need the group names that {user} belongs to, group file {file}", "get the groups of {user} out of the group file {file}, just the names", "to which groups does {user} belong according to the group file {file}?", "names of the groups whose member list has {user} in it, group file {file}"),
    nouns=("the groups that {user} is a member of in the group file {file}", "the names of the groups of the user {user} in the group file {file}", "the groups with {user} among their members in the group file {file}", "the groups that {user} belongs to according to the group file {file}", "all groups in the group file {file} whose member list has {user} in it"),
)
