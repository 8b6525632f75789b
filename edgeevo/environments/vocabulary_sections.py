"""Skills on files in sections (ini files, systemd units) and on crontabs."""

from __future__ import annotations

from edgeevo.environments.scenarios import HOUR, Maker
from edgeevo.environments.skills import Draw, Kind, Lines, Params, entry
from edgeevo.environments.world import World, base, text

START, LINES, VALUE, TREE = Kind.START, Kind.LINES, Kind.VALUE, Kind.TREE

SECTIONS = ("database", "server", "logging", "cache", "network", "mail", "paths")
KEYS = ("host", "port", "mode", "timeout", "user", "size", "level", "enabled")
UNIT_KEYS = ("Description", "ExecStart", "User", "Restart", "WorkingDirectory", "RestartSec")


def _age(d: Draw) -> int:
    return d.rng.randint(1, 20) * HOUR + 1800


# --- ini --------------------------------------------------------------------------------------------------------------


def _ini(d: Draw) -> Params:
    """Sections that share keys, so that the section matters."""
    rng, maker = d.rng, Maker(d.rng, d.split, ())
    lines = [f"; {maker.stem()} settings"]
    for section in rng.sample(SECTIONS, rng.randint(3, 4)):
        lines += ["", f"[{section}]"] if len(lines) > 1 else [f"[{section}]"]
        lines += [f"{key} = {rng.choice((maker.stem(), str(rng.randint(1, 9000))))}" for key in rng.sample(KEYS, rng.randint(3, 6))]
    return {"file": d.place(d.name(rng.choice(("ini", "ini", "cfg"))), text(lines, age_seconds=_age(d)))}


def sections(w: World, p: Params) -> dict[str, dict[str, str]]:
    """Section -> key -> value."""
    out: dict[str, dict[str, str]] = {}
    for line in w.lines(p["file"]):
        if line.startswith("["):
            out[line[1:-1]] = {}
        elif " = " in line:
            key, _, value = line.partition(" = ")
            list(out.values())[-1][key] = value
    return out


def _section(d: Draw) -> Params:
    p = _ini(d)
    return p | {"section": d.pick(sections(d.world, p))}


def _key(d: Draw) -> Params:
    p = _section(d)
    return p | {"key": d.pick(sections(d.world, p)[p["section"]])}


def _new_value(d: Draw) -> Params:
    p = _key(d)
    new = [v for v in (d.stem(), d.number(1, 9000)) if v != sections(d.world, p)[p["section"]][p["key"]]]
    return p | {"value": d.pick(new)}


def _ini_set(w: World, _x: Lines, p: Params) -> None:
    out, here = [], ""
    for line in w.lines(p["file"]):
        here = line[1:-1] if line.startswith("[") else here
        out.append(f"{p['key']} = {p['value']}" if here == p["section"] and line.startswith(f"{p['key']} = ") else line)
    w.write(p["file"], out)


entry(
    "ini_sections", START, LINES, draw=_ini, reference=lambda w, x, p: list(sections(w, p)),
    ways=("grep '^\\[' {file} | tr -d '[]'", "sed -n 's/^\\[\\(.*\\)\\]$/\\1/p' {file}"),
    asks=("list the section names of the ini file {file}, without the brackets", "which sections does the ini file {file} have? names only", "print the names of all sections in {file} (ini), no brackets", "{file}: sections of this ini file, without the brackets", "show what sections are in the ini file {file}, bare names one per line", "find the section headers of {file} and print them without [ and ]",
          "i need the sections of the ini file {file}, just their names", "names of the sections in the ini file {file}, brackets removed", "get the section names out of the configuration {file}, square brackets stripped", "what are the sections of {file} called? it is an ini file, print bare names"),
    nouns=("the section names of the ini file {file} without brackets", "the sections in the ini file {file}, bare names", "the names of all sections in {file} (ini)", "the names in the section headers of {file}, no brackets", "the sections of the configuration {file} with the square brackets stripped"),
)
entry(
    "ini_get", START, VALUE, draw=_key, reference=lambda w, x, p: [sections(w, p)[p["section"]][p["key"]]],
    ways=("sed -n '/^\\[{section:raw}\\]/,/^\\[/s/^{key:raw} = //p' {file}", "awk -F' = ' '/^\\[/{s=$0} s==\"[{section:raw}]\"&&$1==\"{key:raw}\"{print $2}' {file}",
          "python3 -c 'import configparser as c,sys;p=c.ConfigParser();p.read(sys.argv[1]);print(p[\"{section:raw}\"][\"{key:raw}\"])' {file}"),
    asks=("what is the value of {key} in the section {section} of the ini file {file}?", "print the {key} from section {section} in {file}, only the value", "get {key} in section {section} out of {file} (ini), just what it is set to", "{file}: value of {key} under the section {section}", "look up the setting {key} of the {section} section in the ini file {file}",
          "which value does the section {section} in {file} give to {key}?", "read {key} from the {section} part of {file} and show its value", "i need the value of {key} that belongs to section {section} in the ini file {file}", "tell me what {key} is in section {section}, file {file}", "find the {section} section in {file} and print the value of its {key}"),
    nouns=("the value of {key} in section {section} of the ini file {file}", "what {key} is set to under the section {section} in {file}", "the {key} of the section {section} in {file}, value only", "the value that section {section} in the ini file {file} gives to {key}", "the setting {key} from the {section} part of {file}, just its value"),
)
entry(
    "ini_section", START, LINES, draw=_section, reference=lambda w, x, p: [f"{k} = {v}" for k, v in sections(w, p)[p["section"]].items()],
    ways=("sed -n '/^\\[{section:raw}\\]/,/^\\[/p' {file} | grep =", "awk '/^\\[/{s=$0} s==\"[{section:raw}]\"&&/=/' {file}"),
    asks=("show the settings in the section {section} of the ini file {file}, without the header", "print the key = value lines of section {section} in {file}, no header line", "which settings does the section {section} in the ini file {file} have? no header", "{file}: all settings under the section {section}, header not included", "list everything that is set in the {section} section of {file}",
          "extract the lines with a setting from section {section} of the ini file {file}", "find the section {section} in {file} and give me only its settings", "i need the settings of section {section} from the ini file {file}, not its header line", "display what {file} configures in its section {section}, only lines with an equals sign", "get all key = value lines belonging to the section {section} out of {file}"),
    nouns=("the settings in the section {section} of the ini file {file}", "the key = value lines of section {section} in {file}", "the settings that {file} has under the section {section}, without the header", "all lines with a setting in section {section} of the ini file {file}", "the lines that set something in the {section} section of {file}"),
)
entry(
    "ini_set", START, TREE, draw=_new_value, reference=_ini_set,
    ways=("sed -i '/^\\[{section:raw}\\]/,/^\\[/s/^{key:raw} = .*/{key:raw} = {value:raw}/' {file}", "perl -pi -e '$s=$1 if /^\\[(.*)\\]/; s/^{key:raw} = .*/{key:raw} = {value:raw}/ if $s eq \"{section:raw}\"' {file}"),
    asks=("set {key} to {value} in the section {section} of the ini file {file}", "change {key} in section {section} of {file} to {value}", "in {file}, section {section}, let {key} be {value}", "edit the ini file {file} so that {key} in section {section} equals {value}", "{file}: under the section {section}, {key} should be {value}", "update the {key} of the {section} section in {file} to {value}, other sections stay as they are",
          "give {key} in section {section} the new value {value}, ini file {file}", "put {value} as the value of {key} into section {section} of {file}", "i need {key} set to {value} in the {section} part of {file}", "modify {file}: the {section} section's {key} becomes {value}"),
)

# --- systemd units ----------------------------------------------------------------------------------------------------


def _unit(d: Draw) -> Params:
    rng, maker = d.rng, Maker(d.rng, d.split, ())
    name = maker.stem()
    lines = ["[Unit]", f"Description={name.capitalize()} {maker.stem()} service", "After=network.target", "", "[Service]", "Type=simple"]
    service = [f"ExecStart=/usr/bin/{name} --config /etc/{name}.conf", f"User={maker.person()}", f"Restart={rng.choice(('no', 'on-failure'))}", f"WorkingDirectory=/srv/{name}", f"RestartSec={rng.randint(1, 60)}"]
    rng.shuffle(service)
    lines += [*service, "", "[Install]", "WantedBy=multi-user.target"]
    return {"file": d.place(f"{name}.service", text(lines, age_seconds=_age(d)))}


def _unit_key(d: Draw) -> Params:
    return _unit(d) | {"key": d.rng.choice(UNIT_KEYS)}


def _unit_change(d: Draw) -> Params:
    p = _unit(d)
    key = d.rng.choice(("User", "Restart", "RestartSec", "Type"))
    value = {"User": Maker(d.rng, d.split, ()).person(), "Restart": "always", "RestartSec": d.number(61, 300), "Type": "oneshot"}[key]
    return p | {"key": key, "value": value}


def _unit_set(w: World, _x: Lines, p: Params) -> None:
    w.write(p["file"], [f"{p['key']}={p['value']}" if line.startswith(p["key"] + "=") else line for line in w.lines(p["file"])])


entry(
    "unit_get", START, VALUE, draw=_unit_key, reference=lambda w, x, p: [line.partition("=")[2] for line in w.lines(p["file"]) if line.startswith(p["key"] + "=")],
    ways=("grep '^{key:raw}=' {file} | cut -d= -f2-", "sed -n 's/^{key:raw}=//p' {file}"),
    asks=("what is {key} set to in the systemd unit {file}?", "print the value of {key} in the unit file {file}", "get the {key} of the service file {file}, only the value", "{file}: value of {key} in this unit file", "look up {key} in the systemd service {file} and show what it says", "which {key} does the unit {file} have?", "read {key} out of the systemd unit file {file}, value without the key",
          "i need what stands behind {key}= in the unit file {file}", "tell me the {key} of the systemd unit {file}", "show just the value of the setting {key} from the service unit {file}"),
    nouns=("the value of {key} in the systemd unit {file}", "what {key} is set to in the unit file {file}", "the {key} of the service file {file}, value only", "the text behind {key}= in the systemd unit {file}", "the setting {key} of the service unit {file}, just its value"),
)
entry(
    "unit_set", START, TREE, draw=_unit_change, reference=_unit_set,
    ways=("sed -i 's/^{key:raw}=.*/{key:raw}={value:raw}/' {file}", "perl -pi -e 's/^{key:raw}=.*/{key:raw}={value:raw}/' {file}"),
    asks=("set {key} to {value} in the systemd unit {file}", "change the {key} of the service file {file} to {value}", "in the unit file {file}, let {key} be {value}", "edit the systemd unit {file}: {key} should be {value}", "{file}: make {key} in this unit file {value}", "update {key} in the service unit {file}, the new value is {value}", "give {key} the value {value} in the systemd service {file}",
          "i need {key}={value} in the unit file {file} instead of what is there", "replace the value of {key} in the unit {file} by {value}", "modify the service file {file} so that it says {value} for {key}"),
)

# --- crontabs ---------------------------------------------------------------------------------------------------------


def _crontab(d: Draw) -> Params:
    rng, maker = d.rng, Maker(d.rng, d.split, ())
    lines = ["# m h dom mon dow command"]
    names = [maker.stem() for _ in range(rng.randint(4, 7))]
    names = [a for a in names if not any(a != b and a in b for b in names)]
    for i, name in enumerate(names):
        schedule = rng.choice((f"{rng.randint(0, 59)} {rng.randint(0, 23)} * * *", f"*/{rng.choice((5, 10, 15))} * * * *", f"{rng.randint(0, 59)} {rng.randint(0, 23)} * * {rng.randint(0, 6)}", f"0 {rng.randint(1, 6)} {rng.randint(1, 28)} * *"))
        lines.append(f"{'#' if i == 1 else ''}{schedule} /opt/{rng.choice(('bin', 'jobs'))}/{name}.sh")
    return {"file": d.place(rng.choice(("crontab", "crontab.txt", "jobs.cron")), text(lines, age_seconds=_age(d)))}


def _jobs(w: World, p: Params) -> Lines:
    return [line for line in w.lines(p["file"]) if not line.startswith("#")]


def _job(d: Draw) -> Params:
    p = _crontab(d)
    return p | {"name": d.pick(base(line) for line in _jobs(d.world, p))}


def _disabled(w: World, _x: Lines, p: Params) -> None:
    w.write(p["file"], [f"#{line}" if line.endswith("/" + p["name"]) else line for line in w.lines(p["file"])])


entry(
    "cron_commands", START, LINES, draw=_crontab, reference=lambda w, x, p: [line.split()[5] for line in _jobs(w, p)],
    ways=("grep -v '^#' {file} | awk '{print $6}'", "sed '/^#/d' {file} | cut -d' ' -f6"),
    asks=("list the commands that the crontab {file} runs, commented lines don't count", "which commands are scheduled in the crontab {file}? only active lines, no times", "print just the command of every active job in the crontab file {file}", "{file}: commands of this crontab without the schedules, skip comments", "show what the crontab {file} starts, one command per line, ignoring disabled (commented) jobs",
          "get the commands out of the crontab {file}, leave out times and comments", "from the crontab {file} the command of each job that is not commented out", "i need the active commands in the crontab {file} without their five time fields", "extract the sixth field of all non-comment lines in the crontab {file}", "what does the crontab {file} run? commands only, no commented ones"),
    nouns=("the commands run by the crontab {file}, commented ones left out", "the commands of the active jobs in the crontab {file}", "the scheduled commands in the crontab file {file} without times and comments", "the commands on the active lines of the crontab {file}", "the commands in the crontab {file}, no schedules, no comments"),
)
entry(
    "cron_schedule", START, VALUE, draw=_job, reference=lambda w, x, p: [" ".join(line.split()[:5]) for line in _jobs(w, p) if line.endswith("/" + p["name"])],
    ways=("grep {name} {file} | cut -d' ' -f1-5", "awk '/{name:raw}/{print $1,$2,$3,$4,$5}' {file}"),
    asks=("what is the cron schedule of {name} in the crontab {file}? the five fields", "print the five time fields of the job {name} from the crontab {file}", "when does the crontab {file} run {name}? show the five time fields", "{file}: cron time fields of {name}, all five", "find the line for {name} in the crontab {file} and show only its schedule", "get the schedule (first 5 fields) of the cron job {name} out of {file}",
          "i need the cron expression of {name} from the crontab {file}", "show just the time specification of {name} in the crontab {file}, without the command", "look up {name} in the crontab {file} and give its five scheduling fields", "which cron expression does {name} have in {file}?"),
    nouns=("the five time fields of {name} in the crontab {file}", "the schedule under which the crontab {file} runs {name}, five fields", "the cron expression that {name} has in the crontab {file}", "the schedule fields of {name} in {file}, without the command", "the time specification that the crontab {file} has for {name}"),
)
entry(
    "cron_disable", START, TREE, draw=_job, reference=_disabled,
    ways=("sed -i '/{name:raw}/s/^/#/' {file}", "perl -pi -e 's/^/#/ if /{name:raw}/' {file}"),
    asks=("disable the job {name} in the crontab {file} by commenting out its line", "comment out the line of {name} in the crontab file {file} with a #", "put a # in front of the cron line for {name} in {file}", "{file}: turn off {name} in this crontab, comment it out with #", "the crontab {file} should not run {name} any more, make its line a comment (#)", "deactivate {name} in the crontab {file}, keep the line as a # comment",
          "i need the cron job {name} in {file} commented out with a hash", "switch the job {name} off in the crontab file {file} with a leading #", "edit the crontab {file}: the {name} line gets a # at its start", "stop {name} from being run by the crontab {file}, add # before its line"),
)
