import type { Bug } from "./bugs.ts";

const flipped = ["test/state/flipped-links.test.ts"];

/** A path or a home that leads elsewhere than it did. */
export const linkBugs: readonly Bug[] = [
  {
    name: "what is applied is noted as it is declared, whatever the links on the way",
    file: "lib/state/run/state-item.ts",
    from: `  return { resource: noted, prior: isMoved ? movePrior(prior, declared, real) : prior };`,
    to: `  return { resource: isMoved ? resource : { ...resource }, prior };`,
    tests: flipped,
  },
  {
    name: "what an earlier agent applied is where its path will lead",
    file: "lib/state/run/identities.ts",
    from: `claimsOn(each).map((claim) => this.#place(claim, this.#before, home));`,
    to: `claimsOn(each).map((claim) => this.#place(claim, this.#paths, home));`,
    tests: flipped,
  },
  {
    name: "what a script leads elsewhere is taken for what was there before",
    file: "lib/state/run/walk.ts",
    from: `    relocate(item, state);\n`,
    tests: flipped,
  },
  {
    name: "what stands behind a link that the run flips is captured before",
    file: "lib/state/run/capture.ts",
    from: `    if (identity !== item.identity) continue;\n`,
    tests: ["test/agent/recovery.test.ts"],
  },
  {
    name: "a plan looks into the folder that a link led to",
    file: "lib/state/foreseen/foreseen-files.ts",
    from: `tree.isChanged ? tree.find(folder).below : folder`,
    to: `folder`,
    tests: flipped,
  },
  {
    name: "a key is the same in whatever home",
    file: "lib/state/resources/authorized-key.ts",
    from: `  inHomeOf: ({ user }) => user,\n`,
    tests: ["test/state/moved-homes.test.ts"],
  },
  {
    name: "a key goes from the home that its user has by then",
    file: "lib/state/resources/authorized-key.ts",
    from: `home === undefined ? found : { ...found, home }`,
    to: `home === "" ? { ...found, home } : found`,
    tests: ["test/state/moved-homes.test.ts"],
  },
  {
    name: "what is buried is looked for by the paths that are declared",
    file: "lib/state/run/shared-things.ts",
    from: `[...places, ...places.map((place) => identities.realPath(place))]`,
    to: `places`,
    tests: ["test/state/fights.test.ts"],
  },
  {
    name: "what another module was applied with is buried",
    file: "lib/state/run/shared-things.ts",
    from: `findBuried([...desired, ...outside], types, { waysTo })`,
    to: `findBuried(desired, types, { waysTo })`,
    tests: ["test/state/fights.test.ts"],
  },
  {
    name: "other names are left with what was written for them",
    file: "lib/state/resources/shared/extras.ts",
    from: `  if (links === 1) return prior;\n`,
    to: `  if (links > 0) return prior;\n`,
    tests: ["test/state/removal/last-version.test.ts"],
  },
  {
    name: "what was written for all names comes back for one",
    file: "lib/state/resources/shared/extras.ts",
    from: `  if (prior.type === "symlink" || hard_links !== "keep") return prior;\n`,
    to: `  if (prior.type === "symlink") return prior;\n  if (hard_links !== "keep") return { ...prior, spec: { ...prior.spec, hard_links: "break" } };\n`,
    tests: ["test/state/removal/last-version.test.ts"],
  },
];
