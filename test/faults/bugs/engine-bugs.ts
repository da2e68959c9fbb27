import type { Bug } from "./bugs.ts";

const cutTexts = ["test/modules/cut-texts.test.ts"];
const removedModules = ["test/modules/removed-modules.test.ts"];
const hiddenValues = ["test/modules/hidden-values.test.ts"];
const hangingLooks = ["test/state/hanging-looks.test.ts"];
const runEdges = ["test/state/run-edges.test.ts"];
const askedOnce = ["test/state/foreseen/asked-once.test.ts"];
const observedHost = ["test/state/observed-host.test.ts"];
const brokenContents = ["test/contents/broken-contents.test.ts"];

/** Bugs of the engine, of modules and of contents by which something is left, told or waited for beyond its end. */
export const engineBugs: readonly Bug[] = [
  {
    name: "a text that is cut ends with half of a character",
    file: "lib/internal/canonical-json.ts",
    from: `text.slice(0, length).replace(/[\\uD800-\\uDBFF]$/, "")`,
    to: `text.slice(0, length)`,
    tests: cutTexts,
  },
  {
    name: "what a condition looked at is cut in a character",
    file: "lib/module-format/conditions.ts",
    from: `\${startOf(text, length)}...`,
    to: `\${text.slice(0, length)}...`,
    tests: cutTexts,
  },
  {
    name: "what is shown of a removed module stays for good",
    file: "lib/modules/modules.ts",
    from: `of [value.content_hash, value.view_hash])`,
    to: `of [value.content_hash])`,
    tests: removedModules,
  },
  {
    name: "the secrets of a removed module stay in use",
    file: "lib/modules/modules.ts",
    from: `    writes.push(...(await this.#service.secrets.removing(name)));\n`,
    tests: removedModules,
  },
  {
    name: "two uploads close a cycle through modules that neither of them requires itself",
    file: "lib/modules/module-requirements.ts",
    from: `this.#hold(held)`,
    to: `this.#hold(requires)`,
    tests: ["test/modules/module-requirements.test.ts"],
  },
  {
    name: "a list shows what one of two modules keeps secret",
    file: "lib/modules/hidden-values.ts",
    from: `!declared.includes(true)`,
    to: `declared.includes(false)`,
    tests: hiddenValues,
  },
  {
    name: "a list shows what the newest revision keeps secret where an older one is used",
    file: "lib/modules/hidden-values.ts",
    from: `new Set([...names, ...printReferences(names, pins)])`,
    to: `new Set(printReferences(names, pins))`,
    tests: hiddenValues,
  },
  {
    name: "what a crash left of a content is taken for the content",
    file: "lib/contents/content-blob.ts",
    from: `if (present && toHex(crypto.sha256(present)) === hash) return hash;`,
    to: `if (present) return hash;`,
    tests: brokenContents,
  },
  {
    name: "contents are removed of which nobody says what refers to them",
    file: "lib/contents/contents.ts",
    from: `?? true`,
    to: `?? false`,
    tests: brokenContents,
  },
  {
    name: "a look at what a failed change left has no end",
    file: "lib/state/run/as-before.ts",
    from: `  return withDeadline(limitsOf(looking), async (signal) =>\n    askPrior({ target, resource }, known, { ...looking, signal }),\n  );`,
    to: `  return askPrior({ target, resource }, known, looking);`,
    tests: hangingLooks,
  },
  {
    name: "what stands is asked without an end",
    file: "lib/state/run/as-before.ts",
    from: `if (type.checksWithPrograms !== true) return ask(signal);`,
    to: `if (type.checksWithPrograms !== undefined) return ask(signal);`,
    tests: hangingLooks,
  },
  {
    name: "where nobody can tell what a failed change left, it counts as nothing",
    file: "lib/state/run/as-before.ts",
    from: `    return isSamePrior(await askBriefly(item, looking), prior);\n  } catch {\n    return false;`,
    to: `    return isSamePrior(await askBriefly(item, looking), prior);\n  } catch {\n    return true;`,
    tests: hangingLooks,
  },
  {
    name: "a ninth program looks at the same time",
    file: "lib/state/run/examine.ts",
    from: `programs.size >= maxPrograms`,
    to: `programs.size > maxPrograms`,
    tests: runEdges,
  },
  {
    name: "what is known of a resource is taken from an agent with other types",
    file: "lib/state/run/prepared.ts",
    from: `if (known?.types === types) return known;`,
    to: `if (known) return known;`,
    tests: runEdges,
  },
  {
    name: "a cancel right before a program lets that run to its end",
    file: "lib/state/run/deadline.ts",
    from: `  if (signal.aborted) note();\n`,
    tests: runEdges,
  },
  {
    name: "nobody is asked before a later try",
    file: "lib/state/run/converge.ts",
    from: `if (!item.begun) run.guard`,
    to: `if (attempts === 1) run.guard`,
    tests: runEdges,
  },
  {
    name: "the work of others is undone where following a trigger failed",
    file: "lib/state/run/capture.ts",
    from: `  if (isSpec && found.length === 0 && !hasNothingToUndo(item)) return forgetUntouched(item, run);\n`,
    tests: runEdges,
  },
  {
    name: "what somebody makes behind a refused try is told as changed",
    file: "lib/state/run/converge.ts",
    from: `if (run.changesBegun > begunBefore && (item.begun || item.removal)) made`,
    to: `if (run.changesBegun > begunBefore) made`,
    tests: ["test/state/retries.test.ts"],
  },
  {
    name: "a resource is named by a secret where its type can't tell",
    file: "lib/module-format/hidden-module.ts",
    from: "  } catch {\n    return `${name}/${id}`;",
    to: "  } catch {\n    return identity;",
    tests: ["test/module-format/hidden-params.test.ts"],
  },
  {
    name: "a plan takes the answer of a question in another folder",
    file: "lib/state/foreseen/foreseen-host.ts",
    from: `JSON.stringify([argv, cwd, user, environment, stdin, opens])`,
    to: `JSON.stringify([argv, user, environment, stdin, opens])`,
    tests: askedOnce,
  },
  {
    name: "what could not be told of one resource is told of the next",
    file: "lib/state/foreseen/foreseen-host.ts",
    from: `    this.untold = null;\n    this.restingPlaces`,
    to: `    this.restingPlaces`,
    tests: askedOnce,
  },
  {
    name: "what a refusal rested on is rested on by the next",
    file: "lib/state/foreseen/foreseen-host.ts",
    from: `    this.restingPlaces = [];\n`,
    tests: askedOnce,
  },
  {
    name: "a copy is made of a file that is another one by then",
    file: "lib/state/run/observed-host.ts",
    from: `return this.#backups.save(path, options);`,
    to: `return this.#backups.save(path);`,
    tests: observedHost,
  },
  {
    name: "a file that is another one by then is read",
    file: "lib/state/run/observed-host.ts",
    from: `return this.#files.readFile(path, expected);`,
    to: `return this.#files.readFile(path);`,
    tests: observedHost,
  },
  {
    name: "a way that a user leads to where nobody can tell who does so is one with what is there",
    file: "lib/state/run/identities.ts",
    from: `this.#isSafe(real) === false ? real`,
    to: `this.#isSafe(real) !== true ? real`,
    tests: ["test/state/led-ways.test.ts"],
  },
  {
    name: "a stored module is unreadable where its default does not match any more",
    file: "lib/module-format/params.ts",
    from: `unread !== null || isStored || `,
    to: `unread !== null || `,
    tests: ["test/module-format/stored-patterns.test.ts"],
  },
  {
    name: "a hyphen behind a backslash that earlier versions took in is refused",
    file: "lib/internal/text-pattern.ts",
    from: `if (range === null && !isEscaped) throw`,
    to: `if (range === null) throw`,
    tests: ["test/module-format/stored-patterns.test.ts"],
  },
];
