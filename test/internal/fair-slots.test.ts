import { describe, expect, it } from "vitest";
import { FairSlots } from "../../lib/internal/fair-slots.ts";
import { isWithin, networkOfAddress, parseNetwork, sourceOfAddress } from "../../lib/internal/network.ts";
import { seededRandom } from "../support/random.ts";

const everybody = (): boolean => true;
const nobody = (): boolean => false;

function taken(...holders: [id: string, address: string, seenAt?: number][]): FairSlots {
  const slots = new FairSlots();
  for (const [id, address, seenAt = 0] of holders) slots.set(id, address, seenAt);
  return slots;
}

it.each([
  ["the same address", "10.0.0.1"],
  ["another address of its network", "10.0.0.2"],
  ["another network", "10.9.9.9"],
  ["no address", null],
])("who comes again from %s holds one slot, and none once it is gone", (_where, address) => {
  const slots = taken(["a", "10.0.0.1"]);
  slots.set("a", address, 1);
  const all = [...new Set(["10.0.0.1", "10.0.0.2", "10.9.9.9", address])];
  const counts = () => all.map((each) => [each, slots.countOf(each)]);
  expect(counts()).toEqual(all.map((each) => [each, each === address ? 1 : 0]));
  expect([slots.size, slots.mostCrowded()?.count]).toEqual([1, 1]);
  slots.delete("a");
  expect(counts()).toEqual(all.map((each) => [each, 0]));
  expect([slots.size, slots.mostCrowded()]).toEqual([0, null]);
});

describe("where all slots are taken", () => {
  it("who has been away for longest gives way, where most are", () => {
    const slots = taken(
      ["a", "10.0.0.1", 5],
      ["b", "10.0.0.1", 3],
      ["c", "10.0.0.1", 4],
      ["d", "10.9.9.9", 1],
    );
    expect(slots.giveWay("192.0.2.1", everybody)).toBe("b");
    expect(slots.giveWay("192.0.2.1", ({ id }) => id !== "b")).toBe("c");
  });

  it("the network counts before the address", () => {
    const ofNetwork = ["1", "2", "3", "4"].map((end): [string, string] => [`n${end}`, `10.0.0.${end}`]);
    const slots = taken(["a", "10.7.0.1"], ["b", "10.7.0.1"], ["c", "10.7.0.1"], ...ofNetwork);
    expect(slots.giveWay("192.0.2.1", everybody)).toMatch(/^n/);
  });

  it("the last that came gives way where nobody is away, unless that only turned the tables", () => {
    const slots = taken(["a", "10.0.0.1"], ["b", "10.0.0.1"], ["c", "10.9.9.9"]);
    expect(slots.giveWay("192.0.2.1", nobody)).toBe("b");
    expect(slots.giveWay("10.9.9.8", nobody)).toBe(null);
    expect(slots.giveWay("10.9.9.8", everybody)).toBe("a");
  });

  it("of the most crowded address only who is away gives way to one more of it", () => {
    const slots = taken(["a", "10.0.0.1"], ["b", "10.0.0.1"], ["c", "10.0.0.2"]);
    expect(slots.giveWay("10.0.0.1", nobody)).toBe(null);
    expect(slots.giveWay("10.0.0.1", ({ id }) => id !== "a")).toBe("b");
    // Within one network the addresses count.
    expect(slots.giveWay("10.0.0.3", nobody)).toBe("b");
  });

  it("nobody gives way to somebody of a network with as many, however long they have been away", () => {
    const networks = taken(
      ["a", "10.0.0.1", 1],
      ["b", "10.0.0.1", 2],
      ["c", "10.9.9.9", 3],
      ["d", "10.9.9.9", 4],
    );
    expect(networks.giveWay("10.9.9.9", everybody)).toBe("c");
    expect(networks.giveWay("10.0.0.1", everybody)).toBe("a");
    expect(networks.giveWay("10.9.9.9", ({ id }) => id < "c")).toBe(null);
    const addresses = taken(
      ["a", "10.0.0.1", 1],
      ["b", "10.0.0.1", 2],
      ["c", "10.0.0.2", 3],
      ["d", "10.0.0.2", 4],
    );
    expect(addresses.giveWay("10.0.0.2", everybody)).toBe("c");
    expect(addresses.giveWay("10.0.0.1", everybody)).toBe("a");
    expect(addresses.giveWay("10.0.0.2", ({ id }) => id < "c")).toBe(null);
  });

  it("nobody gives way where nobody is", () => {
    expect(new FairSlots().giveWay("192.0.2.1", everybody)).toBe(null);
    expect(new FairSlots().mostCrowded()).toBe(null);
  });

  it("newcomers from everywhere get in, and none of those who are here ends with less than a fair part", () => {
    for (let seed = 0; seed < 200; seed += 1) {
      const random = seededRandom(seed);
      const slots = new FairSlots();
      const networks = 1 + Math.floor(random() * 12);
      for (let n = 0; n < 60; n += 1) {
        // One network floods; the others come now and then.
        const network = random() < 0.7 ? 0 : Math.floor(random() * networks);
        const address = `10.0.${network}.${Math.floor(random() * 3)}`;
        if (slots.size === 24) {
          const before = slots.mostCrowded()!;
          const gone = slots.giveWay(address, nobody);
          const isCrowd = countOf(slots, networkOfAddress(address)) + 1 >= before.count;
          expect(gone === null ? isCrowd : true).toBe(true);
          if (gone === null) continue;
          expect(networkOfAddress(slots.entries().find(([id]) => id === gone)![1])).toSatisfy(
            (from: string) => countOf(slots, from) === before.count || from === networkOfAddress(address),
          );
          slots.delete(gone);
        }
        slots.set(`${n}`, address, n);
      }
      const sizes = slots.entries().map(([, address]) => countOf(slots, networkOfAddress(address)));
      const fair = Math.floor(24 / networks);
      // Who has more than a fair part has it because others want no more.
      if (slots.size === 24) expect(Math.max(...sizes)).toBeGreaterThanOrEqual(fair);
    }
  });
});

function countOf(slots: FairSlots, network: string): number {
  return slots.entries().filter(([, address]) => networkOfAddress(address) === network).length;
}

it("one who comes from elsewhere is counted there alone", () => {
  const slots = taken(["a", "10.0.0.1"], ["b", "10.0.0.1"]);
  slots.set("b", "10.5.0.1", 1);
  expect([slots.size, slots.mostCrowded()?.count]).toEqual([2, 1]);
  slots.delete("a");
  slots.delete("b");
  slots.delete("b");
  expect([slots.size, slots.mostCrowded()]).toEqual([0, null]);
});

it.each([
  ["192.0.2.77", "192.0.2.77", "192.0.2.0/24"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"],
  ["2001:0DB8::1", "2001:db8:0:0::/64", "2001:db8:0::/48"],
  ["::1", "0:0:0:0::/64", "0:0:0::/48"],
  ["::ffff:192.0.2.77", "192.0.2.77", "192.0.2.0/24"],
  ["::FFFF:c000:24d", "192.0.2.77", "192.0.2.0/24"],
  ["fe80::1%eth0", "fe80:0:0:0::/64", "fe80:0:0::/48"],
  ["", "", ""],
])("%s is of the place %s and the network %s", (address, place, network) => {
  expect([sourceOfAddress(address), networkOfAddress(address)]).toEqual([place, network]);
});

it.each([
  ["10.0.0.0/8", "10.200.3.4", true],
  ["10.0.0.0/8", "11.0.0.1", false],
  ["192.0.2.1", "192.0.2.1", true],
  ["192.0.2.1", "192.0.2.2", false],
  ["2001:db8::/48", "2001:db8:0:ffff::1", true],
  ["2001:db8::/48", "10.0.0.1", false],
  ["2001:db8::/47", "2001:db8:1::1", true],
  ["2001:db8::/48", "2001:db8:1::1", false],
  ["0.0.0.0/0", "not an address", false],
  ["0.0.0.0/0", "203.0.113.9", true],
])("of the network %s, %s is a part: %s", (network, address, is) => {
  expect(isWithin(parseNetwork(network)!, address)).toBe(is);
});

it.each([
  "",
  "10.0.0",
  "10.0.0.0/33",
  "10.0.0.0/",
  "10.0.0.0/8/8",
  "10.0.0.0/-1",
  "::/129",
  "::/1e1",
  "1::2::3",
  "::12345",
  "01.2.3.4",
  "web",
])("%j is no network", (text) => expect(parseNetwork(text)).toBe(null));
