import { describe, expect, it } from "vitest";
import { createAudienceCheck } from "../../adapters/http/audience.ts";
import type { LocalEnd } from "../../adapters/http/audience.ts";

const end = (address: string, port: number): LocalEnd => ({ address, port });

/** Origin, where the request arrived, names of the service, and whether it is the service's own. */
const rows: readonly [string, LocalEnd | null, readonly string[] | null, boolean][] = [
  ["http://127.0.0.1:4748", end("127.0.0.1", 4748), null, true],
  ["http://127.0.0.1:4749", end("127.0.0.1", 4748), null, false],
  ["http://127.0.0.2:4748", end("127.0.0.1", 4748), null, false],
  ["http://127.0.0.1:4748", end("::ffff:127.0.0.1", 4748), null, true],
  ["http://localhost:4748", end("127.0.0.1", 4748), null, true],
  ["http://localhost.:4748", end("::1", 4748), null, true],
  // The dot of the root makes no other name of it.
  ["http://localhost.:4749", end("::1", 4748), null, false],
  ["https://fleet.example.", null, ["fleet.example"], true],
  ["https://rogue.example.", null, ["fleet.example"], false],
  ["http://a.localhost:4748", end("::1", 4748), null, true],
  ["http://a.localhost:4749", end("::1", 4748), null, false],
  ["http://localhost:4748", end("192.0.2.1", 4748), null, false],
  ["http://0.0.0.0:4748", end("127.0.0.1", 4748), null, true],
  ["http://[::]:4748", end("::1", 4748), null, true],
  ["http://0.0.0.0:4748", end("192.0.2.1", 4748), null, false],
  ["http://192.0.2.1", end("192.0.2.1", 80), null, true],
  ["https://192.0.2.1", end("192.0.2.1", 443), null, true],
  ["https://192.0.2.1", end("192.0.2.1", 80), null, false],
  ["http://[2001:db8::1]:4748", end("2001:db8:0::1", 4748), null, true],
  ["http://[fe80::1]:4748", end("fe80::1%eth0", 4748), null, true],
  ["https://fleet.example", end("10.0.0.1", 4748), null, true],
  ["https://fleet.example", null, null, true],
  ["http://127.0.0.1:4748", null, null, true],
  ["https://fleet.example", end("10.0.0.1", 4748), ["Fleet.Example"], true],
  ["https://fleet.example:8443", null, ["fleet.example"], true],
  ["https://rogue.example", end("10.0.0.1", 4748), ["fleet.example"], false],
  ["https://fleet.example.rogue.example", null, ["fleet.example"], false],
  ["http://10.0.0.1:4748", end("10.0.0.1", 4748), ["fleet.example"], true],
  ["http://10.0.0.2:4748", end("10.0.0.1", 4748), ["fleet.example"], false],
  ["http://10.0.0.2:4748", end("10.0.0.1", 4748), ["10.0.0.2"], true],
  ["http://[2001:db8::2]", end("10.0.0.1", 4748), ["2001:db8::2"], true],
  ["http://127.0.0.1:8000", end("127.0.0.1", 4748), ["localhost", "127.0.0.1"], true],
  ["http://127.0.0.1:4748", null, ["fleet.example"], false],
];

describe("the origin that a sign-in is for", () => {
  it.each(rows)(
    "%s, where the request arrived at %o, of a service named %o: %s",
    (origin, at, names, good) => {
      const check = (): void => createAudienceCheck(names)(origin, at);
      if (good) expect(check).not.toThrow();
      else expect(check).toThrow(expect.objectContaining({ code: "ORIGIN_REFUSED" }));
    },
  );
});
