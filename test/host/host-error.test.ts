import { constants } from "node:os";
import { describe, expect, it } from "vitest";
import { errnoOf, hostError, lostError } from "../../lib/host/host-error.ts";

const code = /\bE[A-Z]{3,}|ERR_|UNKNOWN/;

describe("a refusal of the machine", () => {
  it.each([...Object.keys(constants.errno), "UNKNOWN", "ENOWHERE", "ENOTFOUND"])(
    "is told in words, with the path: %s",
    (errno) => {
      const { message, details } = hostError("/srv/x", errno);
      expect(message).toMatch(/^[a-z][a-z ,/-]+(?:\([a-z ]+\))?.*: \/srv\/x$/);
      expect(message).not.toMatch(code);
      expect(details).toEqual({ path: "/srv/x", errno });
      expect(lostError("/srv/x", new Map([["acl", errno]])).message).not.toMatch(code);
    },
  );

  it.each([
    ["ENOENT", "missing: /srv/x"],
    ["EACCES", "permission denied: /srv/x"],
    ["ENOSPC", "disk full: /srv/x"],
    ["CERT_HAS_EXPIRED", "cert has expired: /srv/x"],
    ["ERR_INVALID_CHAR", "invalid char: /srv/x"],
  ])("%s is %s", (errno, message) => {
    expect(hostError("/srv/x", errno).message).toBe(message);
  });
});

describe("the name of a system's error", () => {
  const { EDQUOT, ESTALE } = constants.errno;
  it.each<[thrown: unknown, name: string]>([
    [{ code: "ENOENT", errno: -2 }, "ENOENT"],
    // Its number is Node's own, that of no error of the system.
    [{ code: "ENOTFOUND", errno: -3008 }, "ENOTFOUND"],
    [{ code: "ENOTFOUND", errno: -EDQUOT }, "ENOTFOUND"],
    [{ code: "CERT_HAS_EXPIRED" }, "CERT_HAS_EXPIRED"],
    [{ code: "UNKNOWN", errno: -EDQUOT }, "EDQUOT"],
    [{ code: "UNKNOWN", errno: EDQUOT }, "EDQUOT"],
    [{ code: `Unknown system error -${ESTALE}`, errno: -ESTALE }, "ESTALE"],
    [{ code: "Unknown system error -4000", errno: -4000 }, "Unknown system error -4000"],
    [{ code: "UNKNOWN" }, "UNKNOWN"],
    [{ code: "UNKNOWN", errno: String(EDQUOT) }, "UNKNOWN"],
    [{ code: 2, errno: -2 }, "UNKNOWN"],
    [{ errno: -2 }, "UNKNOWN"],
    [new Error("ENOENT"), "UNKNOWN"],
    ["ENOENT", "UNKNOWN"],
    [null, "UNKNOWN"],
    [undefined, "UNKNOWN"],
  ])("is found where it has one: %j", (thrown, name) => {
    expect(errnoOf(thrown)).toBe(name);
  });
});
