import { describe, expect, test } from "vitest";
import { LocalCluster } from "../../lib/cluster/local-cluster.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { clusterConformance } from "../../lib/testing/cluster-conformance.ts";
import type { CreateClusterUnderTest } from "../../lib/testing/cluster-scene.ts";
import type { ConformanceCase } from "../../lib/testing/conformance.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { MemoryCluster } from "../../lib/testing/memory-cluster.ts";

const local: CreateClusterUnderTest = async () => ({
  members: [new LocalCluster()],
  clock: new FakeClock(),
  dispose: async () => {},
});

const inMemory: CreateClusterUnderTest = async () => {
  const clock = new FakeClock();
  const cluster = new MemoryCluster({ clock });
  return {
    members: [cluster.member(), cluster.member()],
    clock,
    cut: (one, other) => cluster.cut(one, other),
    isolate: async (member) => cluster.isolate(member),
    rejoin: async (member) => cluster.rejoin(member),
    dispose: async () => {},
  };
};

const isOfOneMember = ({ needs }: ConformanceCase): boolean => needs === undefined;

describe("the local cluster", () => {
  for (const { promise, name, run } of clusterConformance(local, nodeCrypto).filter(isOfOneMember)) {
    test(`promise ${promise}: ${name}`, run);
  }
});

describe("the memory cluster", () => {
  for (const { promise, name, run } of clusterConformance(inMemory, nodeCrypto)) {
    test(`promise ${promise}: ${name}`, run);
  }
});

test("every promise of the port has a case", () => {
  const promises = new Set(clusterConformance(inMemory, nodeCrypto).map(({ promise }) => promise));
  expect([...promises].toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 12 }, (_, index) => index + 1),
  );
});
