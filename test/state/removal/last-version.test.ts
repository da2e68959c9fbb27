/** How a thing comes back, as far as that is a matter of the declaration: as its last version says, not as the first did. */
import { linkSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../../lib/clock.ts";
import { LocalHost } from "../../../lib/host/local-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { AppliedResource } from "../../../lib/state/run/applied-resource.ts";
import { runState } from "../../../lib/state/run/engine.ts";
import { declare } from "../../support/state-fixture.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const old = "k old\n# BEGIN block\nold\n# END block\n";

test.each<[string, JsonObject]>([
  ["file", { type: "file", content: "ours\n" }],
  ["line", { type: "line", line: "k ours", match: "k *" }],
  ["block", { type: "block", content: "ours\n" }],
])(
  "a %s whose last version keeps the other names comes back under all of them",
  async (_type, definition) => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "names"));
    const path = join(folder, "names/one");
    writeFileSync(path, old);
    const host = new LocalHost({ stateFolder: join(folder, "state") });
    let applied: AppliedResource[] = [];
    const run = async (...definitions: JsonObject[]): Promise<unknown> => {
      const { signal } = new AbortController();
      const options = {
        mode: "apply",
        desired: declare(definitions),
        applied,
        host,
        clock: systemClock,
      } as const;
      const result = await runState({ ...options, signal, timeoutMs: 60_000 });
      applied = JSON.parse(JSON.stringify(result.applied)) as AppliedResource[];
      return result.results[0]?.outcome;
    };
    await run({ ...definition, id: "r", path });
    const other = join(folder, "names/other");
    linkSync(path, other);
    await run({ ...definition, id: "r", path, hard_links: "keep" });
    expect(await run()).toBe("changed");
    expect([readFileSync(other, "utf8"), statSync(path).ino]).toEqual([old, statSync(other).ino]);
  },
);
