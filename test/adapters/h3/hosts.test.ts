/** Which hosts a call may name, and pages of which sites may make it. */
import { describe, expect, test } from "vitest";
import { createHostCheck } from "../../../adapters/h3/hosts.ts";

const names = ["Fleet.Example", "api.example"];

/** Whether a call passes where these names are allowed, and where all are. */
const calls: [host: string | undefined, origin: string | undefined, named: boolean, any: boolean][] = [
  ["fleet.example", undefined, true, true],
  ["FLEET.example:8443", undefined, true, true],
  ["other.example", undefined, false, true],
  ["fleet.example.other", undefined, false, true],
  ["localhost:4748", undefined, true, true],
  ["127.0.0.1:4748", undefined, true, true],
  ["[::1]:4748", undefined, true, true],
  ["[::1]", undefined, true, true],
  ["127.0.0.1", undefined, true, true],
  ["[fleet.example]", undefined, false, false],
  [undefined, undefined, true, true],
  ["a b", undefined, false, false],
  ["fleet.example:123456", undefined, false, false],
  // A page of the host that is called, and none of another port of it where nothing else is known of that.
  ["fleet.example:8443", "https://fleet.example:8443", true, true],
  ["fleet.example:8443", "https://fleet.example:9443", true, false],
  ["fleet.example", "https://fleet.example:8443", true, false],
  ["api.example", "https://fleet.example:8443", true, false],
  ["api.example", "https://FLEET.example", true, false],
  ["api.example", "http://fleet.example", true, false],
  ["api.example", "https://other.example", false, false],
  ["api.example", "https://fleet.example.other", false, false],
  ["api.example", "null", false, false],
  ["127.0.0.1", "http://localhost", false, false],
  ["127.0.0.1:4748", "http://127.0.0.1:4748", true, true],
];

describe.each([
  ["named hosts", names],
  ["any host", null],
] as const)("for %s", (_what, allowed) => {
  test.each(calls)("a call to %s by a page of %s", (host, origin, named, any) => {
    const check = createHostCheck(allowed);
    // The second time it is known.
    for (let asked = 0; asked < 2; asked += 1) {
      const fault = check({ host, origin });
      expect(fault === null).toBe(allowed === null ? any : named);
    }
  });
});
