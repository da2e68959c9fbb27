import type { Bug } from "./bugs.ts";

const handedOver = ["test/state/handed-over.test.ts"];
const runEnds = ["test/state/run-ends.test.ts"];
const whoseItWas = ["test/state/removal/whose-it-was.test.ts"];
const askedPrograms = ["test/state/foreseen/asked-programs.test.ts"];
const services = ["test/state/resources/service.test.ts"];
const sharedPackages = ["test/state/scope-packages.test.ts"];
const users = ["test/state/resources/user/refusals.test.ts"];

/** Bugs by which a machine is not given back as it was, or a run leaves something behind. */
export const stateBugs: readonly Bug[] = [
  {
    name: "what a later version adds to what stood is not on disk before it changes that",
    file: "lib/state/run/capture.ts",
    from: `if (!item.isOurs || item.prior !== item.known) captured.push(item)`,
    to: `if (!item.isOurs) captured.push(item)`,
    tests: handedOver,
  },
  {
    name: "what stood is noted newer than it was handed over",
    file: "lib/state/run/capture.ts",
    from: `  item.prior = last ?? null;\n`,
    tests: handedOver,
  },
  {
    name: "a later version that failed behind its write forgets what it wrote",
    file: "lib/state/run/capture.ts",
    from: `if (isSame && !traces.own) forget(item)`,
    to: `if (isSame) forget(item)`,
    tests: ["test/state/failed-change.test.ts"],
  },
  {
    name: "what was cut before it changed anything is taken for ours",
    file: "lib/state/run/capture.ts",
    from: `const looking = { host: run.host, clock: run.clock, signal: unstopped }`,
    to: `const looking = { host: run.host, clock: run.clock, signal: run.stop }`,
    tests: runEnds,
  },
  {
    name: "a run forgets to let go of who may cancel it",
    file: "lib/state/run/converge.ts",
    from: `    cut?.release();\n`,
    tests: runEnds,
  },
  {
    name: "a cancel between two tries leaves a timer",
    file: "lib/state/run/converge.ts",
    from: `      timer.cancel();\n      stop.removeEventListener`,
    to: `      stop.removeEventListener`,
    tests: runEnds,
  },
  {
    name: "the log has the error of a sensitive resource",
    file: "lib/state/run/walk.ts",
    from: `item.resource.sensitive ? {} : { error: item.error }`,
    to: `{ error: item.error }`,
    tests: ["test/state/hidden-secrets.test.ts"],
  },
  {
    name: "a folder whose content somebody was at comes back as he left it",
    file: "lib/state/resources/directory/content.ts",
    from: `      ...entry,\n      ...noted,\n`,
    to: `      ...noted,\n      ...entry,\n`,
    tests: [...whoseItWas, "test/state/removal/left-alone-folders.test.ts"],
  },
  {
    name: "a link comes back as the agent's",
    file: "lib/state/resources/symlink.ts",
    from: `host.files.makeSymlink(spec.path, spec.target, owner)`,
    to: `host.files.makeSymlink(spec.path, spec.target)`,
    tests: whoseItWas,
  },
  {
    name: "a table of mounts that was made for us goes with the lines of others",
    file: "lib/state/resources/mount.ts",
    from: `if (spec.remove_empty === true && edited.length === 0)`,
    to: `if (spec.remove_empty === true)`,
    tests: ["test/state/removal/made-for-us.test.ts"],
  },
  {
    name: "a password is in the message of the program that refused it",
    file: "lib/state/resources/user/programs.ts",
    from: `, { reads: "secret" }`,
    tests: users,
  },
  {
    name: "a home is removed where somebody else can lead it elsewhere",
    file: "lib/state/resources/user/obstacles.ts",
    from: `    });
  requireOwnWay(home, host);\n`,
    to: `    });\n`,
    tests: users,
  },
  {
    name: "a source of packages stays where the fetch of its index was cut off",
    file: "lib/state/resources/package-repository.ts",
    from: `write(spec, old, { host, signal: new AbortController().signal })`,
    to: `write(spec, old, { host, signal })`,
    tests: ["test/state/resources/package-repository.test.ts"],
  },
  {
    name: "a content of many bytes is compared in part",
    file: "lib/state/resources/file/content.ts",
    from: `content.length * 3 > scratch.length`,
    to: `content.length > scratch.length`,
    tests: ["test/state/resources/file.test.ts"],
  },
  {
    name: "a folder in the place of an extracted file is taken for that file",
    file: "lib/state/resources/archive/stamp.ts",
    from: `if (stat?.kind === "file" || stat?.kind === "symlink") files.removeFile(path)`,
    to: `if (stat) files.removeFile(path)`,
    tests: ["test/state/resources/archive.test.ts"],
  },
  {
    name: "a plan takes the answer to a longer download for that to a shorter one",
    file: "lib/state/foreseen/asked-servers.ts",
    from: `JSON.stringify([url, headers, maxBytes])`,
    to: `JSON.stringify([url, headers])`,
    tests: askedPrograms,
  },
  {
    name: "a plan remembers a question to a server that was cut off as its answer",
    file: "lib/state/foreseen/asked-servers.ts",
    from: `      if (signal.aborted) this.#answers.delete(key);\n`,
    tests: askedPrograms,
  },
  {
    name: "a plan hands the group of a file over with its user",
    file: "lib/state/foreseen/handovers.ts",
    from: `gid: gid === from.gid ? to.gid : gid`,
    to: `gid: uid === from.uid ? to.gid : gid`,
    tests: ["test/state/foreseen/foreseen-host.test.ts"],
  },
  {
    name: "a service that was enabled just now is not restarted",
    file: "lib/state/resources/service.ts",
    from: `changes.some(({ property }) => property === "running")) return;\n  await open`,
    to: `changes.length > 0) return;\n  await open`,
    tests: services,
  },
  {
    name: "a service that ended while it was masked stays down",
    file: "lib/state/resources/service.ts",
    from: ` || spec.masked === true) prior`,
    to: `) prior`,
    tests: services,
  },
  {
    name: "a package stays that the other of two modules found when it came later",
    file: "lib/state/resources/package/sharing.ts",
    from: `isOlder ? [shared, prior?.before ?? []] : [prior?.before ?? [], shared]`,
    to: `[prior?.before ?? [], shared]`,
    tests: sharedPackages,
  },
  {
    name: "a package stays held that one of two modules held",
    file: "lib/state/resources/package/sharing.ts",
    from: `{ ...before.get(each.name), ...each }`,
    to: `each`,
    tests: sharedPackages,
  },
  {
    name: "taking a setting of the kernel back brings a file back that somebody removed",
    file: "lib/state/resources/sysctl.ts",
    from: "    if (text === null && each.kept) continue;\n",
    tests: ["test/state/resources/sysctl.test.ts"],
  },
  {
    name: "a run about a module that let a thing go drops what the thing owes to another",
    file: "lib/state/run/debts.ts",
    from: "scope.has({ module }) && scope.outside(applied.get(thing)).length === 0",
    to: "scope.has({ module })",
    tests: ["test/state/owed-by-two.test.ts"],
  },
  {
    name: "a job that goes takes the last line break of what others put below it",
    file: "lib/state/resources/cron.ts",
    from: 'spec.bare_end === true && edited.endsWith("\\n") && isLast(text, spec.name)',
    to: 'spec.bare_end === true && edited.endsWith("\\n")',
    tests: ["test/state/resources/cron.test.ts"],
  },
  {
    name: "a run whose last script is cut by a cancel says that it failed",
    file: "lib/state/run/engine.ts",
    from: ` || code === "CANCELLED"`,
    tests: ["test/state/failed-change.test.ts"],
  },
  {
    name: "a member comes back in one table where he stood in the other",
    file: "lib/state/resources/shared/group-rows.ts",
    from: "put(members, shadow_member),",
    to: "put(members, member),",
    tests: ["test/state/resources/user/refusals.test.ts"],
  },
  {
    name: "a copy is noted before it is on disk",
    file: "lib/state/run/capture.ts",
    from: "  if (items.length > 0) await run.host.barrier();\n  const captured = items.map((item) => ({ ...toCaptured(item), identity: item.identity }));\n  await run.beforeChanges?.(captured, watching);\n",
    to: "  const captured = items.map((item) => ({ ...toCaptured(item), identity: item.identity }));\n  await run.beforeChanges?.(captured, watching);\n  if (items.length > 0) await run.host.barrier();\n",
    tests: ["test/state/handed-over.test.ts"],
  },
  {
    name: "of stacked mounts the lowest is looked at",
    file: "lib/state/resources/mount/tables.ts",
    from: "return listMounted(host).findLast((entry) => entry.path === path) ?? null;",
    to: "return listMounted(host).find((entry) => entry.path === path) ?? null;",
    tests: ["test/state/resources/mount.test.ts"],
  },
];
