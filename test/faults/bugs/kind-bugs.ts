import type { Bug } from "./bugs.ts";

const repository = "lib/state/resources/package-repository.ts";
const repositoryTests = ["test/state/resources/package-repository.test.ts"];

const line = "lib/state/resources/line.ts";
const sysctl = "lib/state/resources/sysctl.ts";
const ways = ["test/state/removal/through-absence.test.ts"];
const goneTexts = ["test/state/removal/gone-texts.test.ts"];

/** What single types of resource get wrong about the part of the machine that is theirs. */
export const kindBugs: readonly Bug[] = [
  {
    name: "a source does not say that its index is not fetched yet",
    file: repository,
    from: `return source.startsWith(unfetchedMark) ? source :`,
    to: `return source !== "" ? source :`,
    tests: repositoryTests,
  },
  {
    name: "a new key stands beside its old source as if the index were fetched by it",
    file: repository,
    from: `  if (before.source === after.source) write(spec, { ...before, source: marked }, { host, signal });\n`,
    tests: repositoryTests,
  },
  {
    name: "a source that was never fetched is put back where it can't be fetched again",
    file: repository,
    from: `before.source === marked ? nothing : before`,
    to: `before`,
    tests: repositoryTests,
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
];
