import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Prior } from "../../lib/state/resource-type.ts";
import type { AppliedResource } from "../../lib/state/state-item.ts";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { resource } from "../support/agent-commands.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const absent: Prior = { type: "file", spec: { path: "/a", ensure: "absent" } };
const older: Prior = { type: "file", spec: { path: "/a", content: "old" } };

describe("AppliedSet", () => {
  it("comes back as it was noted", () => {
    const folder = temporaryFolder();
    const entries = [applied("/b", null), applied("/a", absent)];
    new AppliedSet(folder, resourceTypes).replace(entries);
    expect(new AppliedSet(folder, resourceTypes).resources).toEqual(entries);
  });

  it("adopts what an operation that was cut off captured", () => {
    const folder = temporaryFolder();
    const set = new AppliedSet(folder, resourceTypes);
    set.replace([applied("/b", null)]);
    set.adopt([applied("/a", absent)]);
    expect(new AppliedSet(folder, resourceTypes).resources).toEqual([
      applied("/b", null),
      applied("/a", absent),
    ]);
  });

  const merges: [name: string, known: Prior | null, captured: Prior | null, kept: Prior | null][] = [
    ["keeps the older prior", older, absent, older],
    ["takes a prior where none was known", null, absent, absent],
    ["keeps a prior where nothing was captured", older, null, older],
  ];
  it.each(merges)("%s", (_name, known, captured, kept) => {
    const set = new AppliedSet(temporaryFolder(), resourceTypes);
    set.replace([applied("/a", known)]);
    set.adopt([applied("/a", captured)]);
    expect(set.resources.map((entry) => entry.prior)).toEqual([kept]);
  });

  it.each(["", "{}", '{"version":1,"resources":[{}]}', '{"version":2,"resources":[]}'])(
    "refuses the damaged file %j rather than forget",
    (text) => {
      const folder = temporaryFolder();
      const path = join(folder, "applied.json");
      writeFileSync(path, text);
      expect(() => new AppliedSet(folder, resourceTypes)).toThrow(
        expect.objectContaining({ code: "STORAGE_CORRUPT" }),
      );
      expect(readFileSync(path, "utf8")).toBe(text);
    },
  );
});

function applied(path: string, prior: Prior | null): AppliedResource {
  return { resource: resource({ type: "file", path, content: path }), prior };
}
