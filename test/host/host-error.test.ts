import { constants } from "node:os";
import { describe, expect, it } from "vitest";
import { hostError, lostError } from "../../lib/host/host-error.ts";

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
