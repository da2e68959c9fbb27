import type { Bug } from "./bugs.ts";

const checked = "lib/notifications/outbound/checked-outbound.ts";
const rebinding = ["test/notifications/outbound/rebinding.test.ts"];

/** Bugs by which a channel reaches what is inside. */
export const outboundBugs: readonly Bug[] = [
  {
    name: "a name is looked up again after its addresses were checked",
    file: checked,
    from: `    const addresses = await this.#addressesOf(host, limit.signal);`,
    to: `    await this.#addressesOf(host, limit.signal);\n    const addresses = host.kind === "address" ? [host.host] : [...(await this.#resolve(host.host))];`,
    tests: rebinding,
  },
  {
    name: "the first of several addresses is checked, and no other",
    file: checked,
    from: `    return found.map((text) => {`,
    to: `    return found.map((text, index) => {\n      if (index > 0) return text;`,
    tests: rebinding,
  },
];
