/** The address that a server tells agents of its own: one that it listens on, of those that can be written into a URL. */
import { expect, it } from "vitest";
import { ownUrl } from "../../lib/discovery/announcements.ts";

const four = { address: "10.0.0.5", family: 4, isLinkLocal: false } as const;
const six = { address: "2001:db8::1", family: 6, isLinkLocal: false } as const;
const link = { address: "fe80::1", family: 6, isLinkLocal: true } as const;
const linkFour = { address: "169.254.7.7", family: 4, isLinkLocal: true } as const;
const written = new Map<object, string>([
  [four, "10.0.0.5"],
  [six, "[2001:db8::1]"],
]);

type Local = typeof four | typeof six | typeof link | typeof linkFour;

/** Every order of every choice of them. */
function orders(left: readonly Local[]): Local[][] {
  const longer = left.flatMap((first) =>
    orders(left.filter((each) => each !== first)).map((rest) => [first, ...rest]),
  );
  return [[], ...longer];
}

it.each<[host: string, good: readonly Local[]]>([
  ["0.0.0.0", [four]],
  ["::", [four, six]],
  ["10.0.0.5", [four]],
  ["2001:db8::1", [six]],
  ["fe80::1", []],
  ["127.0.0.1", []],
])(
  "of a server that listens at %s is the first by which it is reached, whichever there are",
  (host, good) => {
    for (const isSecure of [true, false])
      for (const addresses of orders([link, four, linkFour, six])) {
        const first = addresses.find((each) => good.includes(each));
        const url = first ? `${isSecure ? "wss" : "ws"}://${written.get(first)}:4100/agent/v1` : null;
        expect(ownUrl(addresses, { host, port: 4100, isSecure, path: "/agent/v1" })).toBe(url);
      }
  },
);

it("is none before the server listens", () => {
  expect(ownUrl([four, six], null)).toBeNull();
});
