/** Whoever invents names, paths, modes, times or sizes takes them from where the evil ones are: test/support/evil.ts. */
import { describe, expect, it } from "vitest";
import { sourceFiles } from "./source-tree.ts";

const evil = "test/support/evil.ts";
const sources = ["node_modules/fast-check/", "test/support/random.ts"];

/** What else a test takes from chance, and which tests take nothing but that. */
const exceptions: Readonly<Record<string, readonly string[]>> = {
  "bytes, their bits and where they are cut": [
    "test/adapters/h3/proxy-header.test.ts",
    "test/cluster/json-lines.test.ts",
    "test/crypto/encoding.test.ts",
    "test/crypto/node-crypto.test.ts",
    "test/crypto/public-key.test.ts",
    "test/faults/audit-files.test.ts",
    "test/faults/damage.test.ts",
    "test/fuzz/man-in-the-middle.test.ts",
    "test/storage/backup.test.ts",
    "test/storage/file/series/damage.test.ts",
    "test/wire/discovery-packets.test.ts",
    "test/wire/handshake.test.ts",
    "test/wire/hostile-messages.test.ts",
    "test/wire/parse-pieces.test.ts",
    "test/wire/session.test.ts",
  ],
  "numbers, or values of JSON": [
    "test/adapters/cli/picture.test.ts",
    "test/bench/series-data.ts",
    "test/internal/fair-slots.test.ts",
    "test/internal/json-value.test.ts",
    "test/internal/stream-window.test.ts",
    "test/storage/file/series/coarse.test.ts",
    "test/storage/sorted-list.test.ts",
    "test/wire/epoch.test.ts",
  ],
  "texts of a grammar": [
    "test/fuzz/template-names.test.ts",
    "test/internal/text-pattern.test.ts",
    "test/module-format/hidden-module.test.ts",
    "test/module-format/yaml-pieces.test.ts",
    "test/state/resources/line/pattern.test.ts",
    "test/state/text-diff.test.ts",
  ],
  "which step, fault or delay comes next": [
    "test/access/operators-model.test.ts",
    "test/adapters/met-calls.test.ts",
    "test/agent/killed-programs.test.ts",
    "test/audit/any-sequence.test.ts",
    "test/cluster/pipe-faults.test.ts",
    "test/contents/contents.test.ts",
    "test/event-feed/resume.test.ts",
    "test/faults/attacks.test.ts",
    "test/faults/full-start.test.ts",
    "test/faults/killed-server.test.ts",
    "test/faults/killed-trigger.test.ts",
    "test/faults/owned.test.ts",
    "test/faults/power-loss.test.ts",
    "test/faults/taken-back.test.ts",
    "test/faults/trial.test.ts",
    "test/first-starts.test.ts",
    "test/notifications/inbox/muted.test.ts",
    "test/operations/operation-retention.test.ts",
    "test/operations/scope-model.test.ts",
    "test/rollouts/two-assignments.test.ts",
    "test/simulation/world.ts",
    "test/state/owed-triggers.test.ts",
    "test/state/own-restart.test.ts",
    "test/state/plan-equals-apply-programs.test.ts",
    "test/state/removal/order.test.ts",
    "test/state/scope.test.ts",
    "test/storage/file/head-file.test.ts",
    "test/storage/file/series/power-loss.test.ts",
    "test/storage/series-backup.test.ts",
    "test/upkeep/sole-duty.test.ts",
  ],
  "every mode that there is": ["test/host/extras.real.test.ts"],
  "one seed for all tests": ["test/support/setup.ts"],
};

const files = sourceFiles("test");
const importsOf = (path: string): string[] =>
  files.find((file) => file.path === path)?.imports.map(({ target }) => target) ?? [];

const inventing = files
  .filter(({ path, imports }) => path !== evil && imports.some(({ target }) => sources.includes(target)))
  .map(({ path }) => path);

/** Takes the evil ones, by itself or through what invents for it. */
function takesEvil(path: string): boolean {
  const imports = importsOf(path);
  return imports.includes(evil) || imports.some((target) => inventing.includes(target) && takesEvil(target));
}

describe("what invents its input", () => {
  it("takes its names, paths, modes, times and sizes from the evil ones, or stands here with what it invents", () => {
    const known = new Set(Object.values(exceptions).flat());
    expect(inventing.filter((path) => !takesEvil(path) && !known.has(path))).toEqual([]);
  });

  it("stands here for as long as it is so", () => {
    const needed = new Set(inventing.filter((path) => !takesEvil(path)));
    const all = Object.values(exceptions).flat();
    expect(all.filter((path) => !needed.has(path))).toEqual([]);
  });
});
