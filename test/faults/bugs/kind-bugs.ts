import type { Bug } from "./bugs.ts";

const repository = "lib/state/resources/package-repository.ts";
const repositoryTests = ["test/state/resources/package-repository.test.ts"];

const providerTests = ["test/state/resources/package-repository-providers.test.ts"];
const line = "lib/state/resources/line.ts";
const sysctl = "lib/state/resources/sysctl.ts";
const timezone = "lib/state/resources/timezone.ts";
const timezoneTests = ["test/state/resources/timezone.test.ts"];
const saidAsFiles = ["test/state/removal/said-as-files.test.ts"];
const textEdits = ["test/state/text-edits.test.ts"];
const sysctlTests = ["test/state/resources/sysctl.test.ts"];
const script = "lib/state/resources/script.ts";
const scriptTests = ["test/state/resources/script-properties.test.ts"];
const unit = "lib/state/resources/systemd-unit.ts";
const unitTests = ["test/state/resources/systemd-unit.test.ts"];
const compare = "lib/state/resources/mount/compare.ts";
const compareTests = ["test/state/resources/mount/compare.test.ts"];
const ways = ["test/state/removal/through-absence.test.ts"];
const goneTexts = ["test/state/removal/gone-texts.test.ts"];

/** What single types of resource get wrong about the part of the machine that is theirs. */
export const kindBugs: readonly Bug[] = [
  {
    name: "a source does not say that its index is not fetched yet",
    file: repository,
    from: "const marked = `${mark}${after.source}`;",
    to: "const marked = after.source;",
    tests: repositoryTests,
  },
  {
    name: "a new key stands beside its old source as if the index were fetched by it",
    file: repository,
    from: `  if (isNewKey) write(spec, { ...before, source: marked }, { host, signal });\n`,
    tests: repositoryTests,
  },
  {
    name: "a source that was never fetched is put back where it can't be fetched again",
    file: repository,
    from: `isUntried && spec.before === undefined ? nothing : before`,
    to: `before`,
    tests: repositoryTests,
  },
  {
    name: "a source of somebody else's that is to come back goes where it can't be fetched",
    file: repository,
    from: `isUntried && spec.before === undefined ?`,
    to: `isUntried ?`,
    tests: ["test/state/resources/package-repository-unfetched.test.ts"],
  },
  {
    name: "a source that worked goes where it can't be fetched by a new key",
    file: repository,
    from: `const mark = isNewKey ? newKeyMark : newSourceMark;`,
    to: `const mark = newSourceMark;`,
    tests: ["test/state/resources/package-repository-unfetched.test.ts"],
  },
  {
    name: "a source stays with a package manager that is gone",
    file: repository,
    from: `  if (provider !== undefined && before !== undefined) return provider;\n`,
    tests: ["test/state/resources/package-repository-unfetched.test.ts"],
  },
  {
    name: "a source whose index was fetched goes on saying that it was not",
    file: repository,
    from: `    write(spec, after, { host, signal });\n  } catch`,
    to: `  } catch`,
    tests: repositoryTests,
  },
  {
    name: "what a removal says of our line is what it says of the one that comes back",
    file: line,
    from: `spec.kept ? [...new Set(ours(spec, lines))] : candidates(spec, lines)`,
    to: `candidates(spec, lines)`,
    tests: ways,
  },
  {
    name: "a line that a version has as it stood is taken for ours",
    file: line,
    from: `spec.ours?.filter((line) => !old.has(line))`,
    to: `spec.ours`,
    tests: ways,
  },
  {
    name: "a line that somebody brought back is noted a second time",
    file: line,
    from: `new Set([...written, ...kept.map(({ text }) => text)])`,
    to: `new Set(written)`,
    tests: ways,
  },
  {
    name: "a line that only a later version took is not told when it comes back",
    file: line,
    from: `      ...(first !== undefined && { ensure: "present", line: first }),\n`,
    tests: ways,
  },
  {
    name: "a setting is to come back in a file that somebody took away",
    file: sysctl,
    from: `if (text === null && (spec.kept ?? spec.line) !== undefined) return changes;`,
    tests: goneTexts,
  },
  {
    name: "an empty file is left where a setting stood that somebody took away with its file",
    file: sysctl,
    from: `if (edited !== (text ?? "")) writeText`,
    to: `if (edited !== text) writeText`,
    tests: goneTexts,
  },
  {
    name: "a file that was made for a setting is removed though somebody took it away",
    file: sysctl,
    from: `} else if (text !== null) host.files.removeFile`,
    to: `} else host.files.removeFile`,
    tests: goneTexts,
  },
  {
    name: "a line of /etc/fstab makes a table again that somebody took away",
    file: "lib/state/resources/mount.ts",
    from: `if (!isGone && !sayTheSame`,
    to: `if (!sayTheSame`,
    tests: goneTexts,
  },
  {
    name: "a purge or a clone does not know that /etc/hosts is declared",
    file: "lib/state/resources/host-entry.ts",
    from: `  paths: () => [path],\n`,
    tests: ["test/state/resources/host-entry.test.ts"],
  },
  {
    name: "the name of the machine says nothing of its file",
    file: "lib/state/resources/hostname.ts",
    from: `  paths: () => [path],\n`,
    tests: ["test/state/resources/hostname.test.ts"],
  },
  {
    name: "the time zone says its link alone",
    file: timezone,
    from: `paths: () => [linkPath, namePath],`,
    to: `paths: () => [linkPath],`,
    tests: timezoneTests,
  },
  {
    name: "a mount says its folder alone",
    file: "lib/state/resources/mount.ts",
    from: `[spec.path, fstabPath]`,
    to: `[spec.path]`,
    tests: ["test/state/resources/mount.test.ts"],
  },
  {
    name: "what is told of a zone that comes back is the one for people",
    file: timezone,
    from: `spec.before ? zoneOf(spec.before) : spec.name });`,
    to: `spec.name });`,
    tests: timezoneTests,
  },
  {
    name: "a zone that the machine lost can't come back",
    file: timezone,
    from: `if (!spec.before && !files.stat`,
    to: `if (!files.stat`,
    tests: timezoneTests,
  },
  {
    name: "a copy of a zone comes back for all to read",
    file: timezone,
    from: `keptAttributes(linkPath, link.kept, host)`,
    to: `{ mode: 0o644 }`,
    tests: timezoneTests,
  },
  {
    name: "a link to a zone that is no UTF-8 is compared as text",
    file: timezone,
    from: `JSON.stringify(link["target"])`,
    to: `link["target"]`,
    tests: timezoneTests,
  },
  {
    name: "any folder whose name ends in zoneinfo has zones",
    file: timezone,
    from: `/(?:^|\\/)zoneinfo\\/(.+)$/`,
    to: `/zoneinfo\\/(.+)$/`,
    tests: timezoneTests,
  },
  {
    name: "a time zone forgets the copy of which a first version said the mode",
    file: timezone,
    from: `    extendPrior: (prior, _spec, host, signal) => extendToFile(prior, linkPath, { host, signal }),\n`,
    tests: saidAsFiles,
  },
  {
    name: "a name of the machine forgets the file of which a first version said the mode",
    file: "lib/state/resources/hostname.ts",
    from: `    extendPrior: (prior, _spec, host, signal) => extendToFile(prior, path, { host, signal }),\n`,
    tests: saidAsFiles,
  },
  {
    name: "a unit forgets the file of which a first version said the mode",
    file: "lib/state/resources/systemd-unit.ts",
    from: `    extendPrior: (prior, spec, host, signal) => extendToFile(prior, pathOf(spec), { host, signal }),\n`,
    tests: saidAsFiles,
  },
  {
    name: "a time zone fights who wants no file with its name",
    file: timezone,
    from: `text === null || nameIn(text) === name ? text`,
    to: `nameIn(text) === name ? text`,
    tests: textEdits,
  },
  {
    name: "the bits of a script's umask are read as a decimal",
    file: script,
    from: `Number.parseInt(spec.umask, 8)`,
    to: `Number.parseInt(spec.umask, 10)`,
    tests: scriptTests,
  },
  {
    name: "a script runs as the agent's user, whoever is said",
    file: script,
    from: `  if (spec.user !== undefined) command.user = spec.user;\n`,
    tests: scriptTests,
  },
  {
    name: "a script is taken back by what its first version says",
    file: script,
    from: `    capturesFrom: "spec",\n`,
    tests: scriptTests,
  },
  {
    name: "a unit in a root folder is read by the systemd of the machine",
    file: unit,
    from: `!isConfined && files.stat("/run/systemd/system") !== null`,
    to: `files.stat("/run/systemd/system") !== null`,
    tests: unitTests,
  },
  {
    name: "a unit of an image needs a systemd that runs",
    file: unit,
    from: `!isConfined && files.stat("/run/systemd/system") !== null`,
    to: `!isConfined`,
    tests: unitTests,
  },
  {
    name: "a systemd that can't be asked is a failure",
    file: unit,
    from: `ask({ argv }, machine, [0, 1])`,
    to: `ask({ argv }, machine)`,
    tests: unitTests,
  },
  {
    name: "blanks between the numbers of a setting are told apart in its file",
    file: sysctl,
    from: `normalize(line.slice(line.indexOf("=") + 1)) === normalize(spec.value ?? "")`,
    to: `line.slice(line.indexOf("=") + 1).trim() === spec.value`,
    tests: sysctlTests,
  },
  {
    name: "blanks between the numbers of a setting are told apart in the kernel",
    file: sysctl,
    from: `live !== normalize(wanted)) {`,
    to: `live !== wanted) {`,
    tests: sysctlTests,
  },
  {
    name: "a setting that was never set is set back",
    file: sysctl,
    from: `...(spec.ensure === "present" && { live: readLive(key, host) }) };`,
    to: `live: readLive(key, host) };`,
    tests: sysctlTests,
  },
  {
    name: "a source of another package manager stays where a later version named it",
    file: repository,
    from: `    extendPrior,\n`,
    tests: providerTests,
  },
  {
    name: "a source is taken away from the package manager that the machine has by then",
    file: repository,
    from: `, kept, provider: providerOf(spec, host) }`,
    to: `, kept }`,
    tests: providerTests,
  },
  {
    name: "the package managers of earlier versions are forgotten",
    file: repository,
    from: `[...elsewhere, { provider, before, kept }]`,
    to: `[{ provider, before, kept }]`,
    tests: providerTests,
  },
  {
    name: "a folder that is mounted elsewhere is mounted anew for its device",
    file: compare,
    from: `device !== undefined && !isBind &&`,
    to: `device !== undefined &&`,
    tests: compareTests,
  },
  {
    name: "a folder that is mounted elsewhere is mounted anew for its type",
    file: compare,
    from: `fstype !== undefined && !isBind &&`,
    to: `fstype !== undefined &&`,
    tests: compareTests,
  },
  {
    name: "only one folder can be mounted elsewhere, not those below it",
    file: compare,
    from: `option === "bind" || option === "rbind"`,
    to: `option === "bind"`,
    tests: compareTests,
  },
  {
    name: "what the kernel calls its own disk is another disk",
    file: compare,
    from: `return host.files.stat(wanted) !== null && host.files.stat(mounted) !== null;`,
    to: `return host.files.stat(wanted) !== null;`,
    tests: compareTests,
  },
  {
    name: "an option of a mount that the kernel shows is not looked for",
    file: compare,
    from: `"noatime", "nodiratime", "relatime"]`,
    to: `"noatime", "relatime"]`,
    tests: compareTests,
  },
];
