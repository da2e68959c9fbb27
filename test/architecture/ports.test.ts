import ts from "typescript";
import { describe, expect, it } from "vitest";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { slackChannelType } from "../../lib/notifications/senders/slack.ts";
import { channelConformance } from "../../lib/testing/channel-conformance.ts";
import { clusterConformance } from "../../lib/testing/cluster-conformance.ts";
import { hostConformance } from "../../lib/testing/host-conformance.ts";
import { storageConformance } from "../../lib/testing/storage-conformance.ts";
import { transportConformance } from "../../lib/testing/transport-conformance.ts";
import { sourceFiles, visit } from "./source-tree.ts";

const never = (): never => {
  throw new Error("no case is run here");
};

/** Each port whose promises a suite of `fleetwright/testing` tries. */
const ports = [
  { name: "Storage", path: "lib/storage/storage.ts", cases: storageConformance(never) },
  { name: "Transport", path: "lib/transport/transport.ts", cases: transportConformance(never, nodeCrypto) },
  { name: "Cluster", path: "lib/cluster/cluster.ts", cases: clusterConformance(never, nodeCrypto) },
  { name: "Host", path: "lib/host/host.ts", cases: hostConformance(never) },
  {
    name: "ChannelType",
    path: "lib/notifications/senders/sender.ts",
    cases: channelConformance(slackChannelType, { config: never, receive: never }),
  },
];

describe("the promises of a port", () => {
  it.each(ports)("of $name stand in its docstring, numbered, each with a case", ({ name, path, cases }) => {
    const promised = promisesOf(path, name);
    expect(promised).toEqual(promised.map((_, index) => index + 1));
    expect([...new Set(cases.map(({ promise }) => promise))].toSorted((a, b) => a - b)).toEqual(promised);
  });

  it("of Cron, which has no suite, stand there too", () => {
    expect(promisesOf("lib/schedules/cron.ts", "Cron")).toEqual([1, 2, 3]);
  });
});

/** The numbers of the list in the docstring of an interface: what an editor and the API reference show of it. */
function promisesOf(path: string, name: string): number[] {
  const file = sourceFiles(path.slice(0, path.lastIndexOf("/"))).find((each) => each.path === path);
  const numbers: number[] = [];
  if (!file) return numbers;
  visit(file, (node) => {
    if (!ts.isInterfaceDeclaration(node) || node.name.text !== name) return;
    for (const docs of ts.getJSDocCommentsAndTags(node)) {
      for (const [, number] of docs.getText(file.syntax).matchAll(/^ \* +(\d+)\. /gm))
        numbers.push(Number(number));
    }
  });
  return numbers;
}
