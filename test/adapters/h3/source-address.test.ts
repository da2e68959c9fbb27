import { describe, expect, test } from "vitest";
import { isNetwork } from "../../../adapters/h3/network.ts";
import { createSourceAddress } from "../../../adapters/h3/source-address.ts";

describe("the source address", () => {
  test.each<
    [
      name: string,
      trusted: string[],
      remote: string | null,
      forwarded: string | undefined,
      found: string | null,
    ]
  >([
    ["is the peer's where no proxy is trusted", [], "203.0.113.9", "198.51.100.1", "203.0.113.9"],
    [
      "is the peer's where the peer is not a trusted proxy",
      ["10.0.0.0/8"],
      "203.0.113.9",
      "198.51.100.1",
      "203.0.113.9",
    ],
    ["is what a trusted proxy says", ["10.0.0.0/8"], "10.1.2.3", "198.51.100.1", "198.51.100.1"],
    [
      "is the last that no trusted proxy wrote",
      ["10.0.0.0/8"],
      "10.1.2.3",
      "1.1.1.1, 198.51.100.1, 10.9.9.9",
      "198.51.100.1",
    ],
    ["is the proxy's own where it says nothing", ["10.0.0.0/8"], "10.1.2.3", undefined, "10.1.2.3"],
    ["is the proxy's own where it says nonsense", ["10.0.0.0/8"], "10.1.2.3", "unknown", "10.1.2.3"],
    [
      "is written as IPv4 on a dual-stack socket",
      ["127.0.0.1"],
      "::ffff:127.0.0.1",
      "::ffff:192.0.2.1",
      "192.0.2.1",
    ],
    ["may be IPv6", ["::1"], "::1", "2001:db8::7", "2001:db8::7"],
    [
      "is IPv4 where a proxy writes it as IPv6 with two groups",
      ["::1"],
      "::1",
      "::ffff:c000:201",
      "192.0.2.1",
    ],
    ["is IPv4 where the header of a connection says it so", [], "::ffff:c000:201", undefined, "192.0.2.1"],
    ["is IPv4 in capital letters, too", ["::1"], "::1", "::FFFF:192.0.2.1", "192.0.2.1"],
    ["may come with its port", ["10.0.0.0/8"], "10.1.2.3", "198.51.100.1:5678", "198.51.100.1"],
    ["may be IPv6 with its port", ["10.0.0.0/8"], "10.1.2.3", "[2001:db8::7]:5678", "2001:db8::7"],
    ["may be IPv6 in brackets", ["10.0.0.0/8"], "10.1.2.3", "[2001:db8::7]", "2001:db8::7"],
    [
      "is looked for beyond a trusted proxy with its port",
      ["10.0.0.0/8"],
      "10.1.2.3",
      "198.51.100.1:5678, 10.9.9.9:443",
      "198.51.100.1",
    ],
    ["is the proxy's own where a port is none", ["10.0.0.0/8"], "10.1.2.3", "198.51.100.1:x", "10.1.2.3"],
    ["is null where there is none", ["10.0.0.0/8"], null, "198.51.100.1", null],
  ])("%s", (_name, trusted, remote, forwarded, found) => {
    expect(createSourceAddress(trusted)(remote, forwarded)).toBe(found);
  });

  test("asks for the header only where a trusted proxy may have written it", () => {
    let asked = 0;
    const header = (): string => {
      asked += 1;
      return "192.0.2.7";
    };
    expect(createSourceAddress()("10.0.0.1", header)).toBe("10.0.0.1");
    const source = createSourceAddress(["10.0.0.1"]);
    expect(source("10.0.0.2", header)).toBe("10.0.0.2");
    expect(asked).toBe(0);
    expect(source("10.0.0.1", header)).toBe("192.0.2.7");
  });

  test.each(["10.0.0.0/8", "10.0.0.0/0", "10.0.0.0/32", "::1", "fd00::/8", "::/128"])(
    "%j is a network",
    (proxy) => {
      expect(isNetwork(proxy)).toBe(true);
      expect(() => createSourceAddress([proxy])).not.toThrow();
    },
  );

  test.each([
    "example.net",
    "10.0.0.0/33",
    "10.0.0.0/x",
    "",
    "10.0.0.0/",
    "10.0.0.0/ 8",
    "10.0.0.0/8/8",
    "::/129",
    5,
  ])("%j is none", (proxy) => {
    expect(isNetwork(proxy)).toBe(false);
  });
});
