import type { Bug } from "./bugs.ts";

const repository = "lib/state/resources/package-repository.ts";
const repositoryTests = ["test/state/resources/package-repository.test.ts"];

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
];
