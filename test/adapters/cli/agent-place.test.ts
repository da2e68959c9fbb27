import { expect, test } from "vitest";
import { isUdpPort, toPlace } from "../../../adapters/cli/work/agent-place.ts";

test.each([
  ["http://fleet.example", "ws://fleet.example/agent/v1"],
  ["https://fleet.example/", "wss://fleet.example/agent/v1"],
  ["http://fleet.example:4748", "ws://fleet.example:4748/agent/v1"],
  ["https://fleet.example:443", "wss://fleet.example/agent/v1"],
  ["http://[::1]:4748/", "ws://[::1]:4748/agent/v1"],
  ["ws://fleet.example:80", "ws://fleet.example/agent/v1"],
  ["wss://fleet.example:4748/below/agent/v1", "wss://fleet.example:4748/below/agent/v1"],
  ["https://fleet.example/below", "wss://fleet.example/below"],
])("an agent that is told %s connects to %s", (given, url) => {
  expect(toPlace({ url: given }, "http://other.example")).toEqual({ url });
  expect(toPlace({}, given)).toEqual({ url });
});

test.each([
  ["0", false],
  ["1", true],
  ["04747", true],
  ["65535", true],
  ["65536", false],
  ["99999", false],
  ["100000", false],
  ["-1", false],
  ["4747 ", false],
  ["1e3", false],
  ["", false],
])("%j is a UDP port: %s", (text, isOne) => expect(isUdpPort(text)).toBe(isOne));
