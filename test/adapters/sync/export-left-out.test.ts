/** What an export of a server writes, says that it leaves out, and passes over, for this server and for another. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import type { Orchestrator } from "fleetwright";
import { exportFolder } from "../../../adapters/sync/export-folder.ts";
import { startCommandLine } from "../../support/command-line.ts";
import { clientOf } from "../../support/fleet-folder.ts";

const written = "written";
const passedOver = "passed over";
const plainText = "its text may hold a secret as it is";
const secretParam = "a value of its params is secret";
const unkept = "a number or a key in it can't be kept in a file";
const others = "the folder net manages it";

/** Each thing, and what becomes of it: with no option, with `--sensitive`, with `--whole`, and with both. */
const rows: Readonly<Record<string, readonly [string, string, string, string]>> = {
  "modules/plain": [written, written, written, written],
  "modules/secret-resource": [plainText, written, plainText, written],
  "modules/secret-default": [plainText, written, plainText, written],
  "modules/open": [plainText, written, plainText, written],
  "assignments/plain": [written, written, written, written],
  "assignments/secret": [secretParam, written, secretParam, written],
  "assignments/public": [written, written, written, written],
  "assignments/large-number": [unkept, unkept, unkept, unkept],
  "assignments/large-inside": [unkept, unkept, unkept, unkept],
  "assignments/of-others": [others, others, written, written],
  "windows/now-nobodys": [written, written, written, written],
  "windows/now-own": [written, written, written, written],
  "windows/now-others": [others, others, written, written],
  "windows/over-nobodys": [passedOver, passedOver, passedOver, passedOver],
  "windows/over-own": [written, written, passedOver, passedOver],
  "windows/over-others": [others, others, passedOver, passedOver],
};

const modules = {
  plain: "resources: []\n",
  "secret-resource":
    "resources:\n  - { type: file, path: /k, sensitive: true, content: tellnobody-resource }\n",
  "secret-default":
    "params:\n  token: { type: string, sensitive: true, default: tellnobody-default }\nresources: []\n",
  open: "params:\n  token: { type: string, sensitive: true, default: '' }\n  any: { type: object, default: {} }\nresources: []\n",
};

async function fill({ assignments, maintenanceWindows, ...orchestrator }: Orchestrator): Promise<void> {
  for (const [name, text] of Object.entries(modules))
    await orchestrator.modules.upload(systemCaller, { content: `name: ${name}\n${text}` });
  const params = {
    plain: {},
    secret: { token: "tellnobody-param" },
    public: { any: { number: 2 ** 53 - 1, fraction: 1.5e-7, text: `${2 ** 60}` } },
    "large-number": { any: { number: 2 ** 53 } },
    "large-inside": { any: { list: [{ number: -(2 ** 60) }] } },
    "of-others": {},
  };
  const ofNet = { managed_by: { label: "net", name: "of-others" } };
  for (const [name, given] of Object.entries(params))
    await assignments.create(systemCaller, {
      name,
      selector: "role=web",
      modules: ["open"],
      params: given,
      ...(name === "of-others" && ofNet),
    });
  const ends_at = new Date(Date.now() + 3_600_000).toISOString();
  for (const when of ["now", "over"])
    for (const [whose, label] of Object.entries({ nobodys: null, own: "shop", others: "net" })) {
      const name = `${when}-${whose}`;
      const managed = label === null ? {} : { managed_by: { label, name } };
      const window = { reason: name, mode: "mute", ends_at, ...managed } as const;
      const { id } = await maintenanceWindows.create(systemCaller, window);
      if (when === "over") await maintenanceWindows.update(systemCaller, { id, end_occurrence: true });
    }
}

it("each thing is written, left out with its reason or passed over, as --sensitive and --whole say", async () => {
  const line = await startCommandLine();
  await fill(line.server.orchestrator);
  const client = clientOf(line);
  const ways = [
    { whole: false, sensitive: false },
    { whole: false, sensitive: true },
    { whole: true, sensitive: false },
    { whole: true, sensitive: true },
  ];
  for (const [at, way] of ways.entries()) {
    const { files, leftOut } = await exportFolder(client, { label: "shop", ...way });
    const textOf = (start: string): string =>
      files.flatMap(({ path, text }) => (path.startsWith(start) ? text : [])).join("\n");
    const found = Object.keys(rows).map((thing) => {
      const [kind = "", name = ""] = thing.split("/");
      const isThere =
        kind === "modules"
          ? textOf(`modules/${name}.yaml`) !== ""
          : new RegExp(`^  ${name}:$`, "m").test(textOf(kind));
      const why = leftOut.find((each) => each.kind === kind && each.name === name)?.why;
      return [thing, isThere ? [written, why].join("") : (why ?? passedOver)];
    });
    expect(Object.fromEntries(found), JSON.stringify(way)).toEqual(
      Object.fromEntries(Object.entries(rows).map(([thing, wanted]) => [thing, wanted[at]])),
    );
    const told = textOf("").match(/tellnobody-\w+/g) ?? [];
    const secrets = ["tellnobody-default", "tellnobody-param", "tellnobody-resource"];
    expect(told.toSorted(), JSON.stringify(way)).toEqual(way.sensitive ? secrets : []);
  }
});
