import { describe, expect, it } from "vitest";
import { CheckedOutbound } from "../../../lib/notifications/outbound/checked-outbound.ts";
import { startReceiver, startSocketServer } from "../../support/receiver.ts";

/** Names as a resolver of an attacker answers them. */
const names: Record<string, string[]> = {
  "inside.example": ["10.1.2.3"],
  "mixed.example": ["93.184.215.14", "127.0.0.1"],
  "mixed6.example": ["2606:2800:21f:cb07::1", "fd00:ec2::254"],
  "mapped.example": ["::ffff:169.254.169.254"],
  "zone.example": ["fe80::1%eth0"],
  "nonsense.example": ["not an address"],
  "metadata.google.internal": ["169.254.169.254"],
  localhost: ["127.0.0.1", "::1"],
  "localhost.": ["127.0.0.1"],
  "app.localhost": ["::1"],
  "inside.example.": ["192.168.0.1"],
  "xn--bcher-kva.example": ["172.16.9.9"],
};

const resolve = (name: string): Promise<string[]> => Promise.resolve(names[name] ?? []);

const refused: [why: string, url: string, error: RegExp][] = [
  ["loopback", "http://127.0.0.1/", /a loopback address/],
  ["another loopback", "http://127.8.9.10/", /a loopback address/],
  ["decimal", "http://2130706433/", /a loopback address/],
  ["octal", "http://0177.0.0.1/", /a loopback address/],
  ["hexadecimal", "http://0x7f000001/", /a loopback address/],
  ["mixed notations", "http://0x7f.0.1/", /a loopback address/],
  ["two parts", "http://127.1/", /a loopback address/],
  ["a dot at the end", "http://127.0.0.1./", /a loopback address/],
  ["percent signs", "http://%31%32%37.0.0.1/", /a loopback address/],
  ["digits in circles", "http://①②⑦.⓪.⓪.①/", /a loopback address/],
  ["full-width dots", "http://127。0。0。1/", /a loopback address/],
  ["zero", "http://0/", /an unspecified address/],
  ["zeros", "http://0.0.0.0/", /an unspecified address/],
  ["private, 10", "http://10.0.0.1/", /a private address/],
  ["private, 172.16", "http://172.31.255.255/", /a private address/],
  ["private, 192.168", "http://192.168.1.1/", /a private address/],
  ["metadata", "http://169.254.169.254/latest/meta-data/", /metadata address/],
  ["metadata of Alibaba", "http://100.100.100.200/", /carrier's NAT/],
  ["metadata of Azure", "http://168.63.129.16/", /metadata address/],
  ["metadata of Oracle", "http://192.0.0.192/", /a reserved address/],
  ["carrier's NAT", "http://100.64.0.1/", /carrier's NAT/],
  ["benchmarks", "http://198.19.0.1/", /a reserved address/],
  ["documentation", "http://203.0.113.7/", /a reserved address/],
  ["multicast", "http://239.255.255.250/", /a multicast address/],
  ["broadcast", "http://255.255.255.255/", /a reserved address/],
  ["future use", "http://240.0.0.1/", /a reserved address/],
  ["IPv6 unspecified", "http://[::]/", /an unspecified address/],
  ["IPv6 loopback", "http://[::1]/", /a loopback address/],
  ["IPv6 loopback in full", "http://[0:0:0:0:0:0:0:1]/", /a loopback address/],
  ["IPv4-mapped", "http://[::ffff:127.0.0.1]/", /an IPv4-mapped address/],
  ["IPv4-mapped in hexadecimal", "http://[::ffff:7f00:1]/", /an IPv4-mapped address/],
  ["IPv4-mapped public", "http://[::ffff:93.184.215.14]/", /an IPv4-mapped address/],
  ["IPv4-compatible", "http://[::127.0.0.1]/", /an IPv4-compatible address/],
  ["NAT64", "http://[64:ff9b::7f00:1]/", /a NAT64 address/],
  ["local NAT64", "http://[64:ff9b:1::a00:1]/", /a NAT64 address/],
  ["6to4", "http://[2002:7f00:1::]/", /a 6to4 address/],
  ["Teredo", "http://[2001:0:7f00:1::]/", /a Teredo address/],
  ["unique local", "http://[fd12:3456::1]/", /a private address/],
  ["metadata of EC2", "http://[fd00:ec2::254]/", /a private address/],
  ["link-local", "http://[fe80::1]/", /a link-local address/],
  ["site-local", "http://[fec0::1]/", /a private address/],
  ["IPv6 multicast", "http://[ff02::1]/", /a multicast address/],
  ["IPv6 documentation", "http://[2001:db8::1]/", /a reserved address/],
  ["IPv6 that nobody was given", "http://[4000::1]/", /a reserved address/],
  ["a zone", "http://[fe80::1%25eth0]/", /not valid/],
  ["localhost", "http://localhost/", /leads to a loopback address/],
  ["localhost with a dot", "http://localhost./", /leads to a loopback address/],
  ["localhost in capitals", "http://LOCALHOST/", /leads to a loopback address/],
  ["a name below localhost", "http://app.localhost/", /leads to a loopback address/],
  ["a name of metadata", "http://metadata.google.internal/", /leads to .*metadata address/],
  ["a name inside", "http://inside.example/", /leads to a private address/],
  ["a name inside with a dot", "http://inside.example./", /leads to a private address/],
  ["a name with a public and a private address", "http://mixed.example/", /leads to a loopback address/],
  ["the same of IPv6", "https://mixed6.example/", /leads to a private address/],
  ["a name with a mapped address", "http://mapped.example/", /leads to an IPv4-mapped address/],
  ["a name with a zone", "http://zone.example/", /leads to an unknown kind of address/],
  ["a resolver that answers nonsense", "http://nonsense.example/", /leads to an unknown kind of address/],
  ["a Unicode name", "http://bücher.example/", /leads to a private address/],
  ["a fragment before another host", "http://127.0.0.1#@public.example/", /a loopback address/],
  ["a query before another host", "http://127.0.0.1?@public.example/", /a loopback address/],
  ["a host in place of the user", "http://public.example@127.0.0.1/", /a user or a password/],
  ["a user and a password", "http://user:secret@public.example/", /a user or a password/],
  ["an empty user", "http://@public.example/", /a user or a password/],
  ["no slashes before a user", "http:user@public.example/", /a user or a password/],
  ["backslashes", "http:\\\\127.0.0.1\\", /not valid/],
  ["a line feed", "http://public.example/\nhost: inside", /not valid/],
  ["a tab in the scheme", "ht\ttp://127.0.0.1/", /not valid/],
  ["a space before it", " http://127.0.0.1/", /not valid/],
  ["a zero-width space", "http://127.0.0.1\u200b/", /not valid/],
  ["port 0", "http://93.184.215.14:0/", /the port is not valid/],
  ["a port that is too large", "http://93.184.215.14:65536/", /not valid/],
  ["ftp", "ftp://93.184.215.14/", /neither http nor https/],
  ["gopher", "gopher://127.0.0.1:25/_HELO", /neither http nor https/],
  ["a file", "file:///etc/passwd", /neither http nor https/],
  ["data", "data:text/plain,hello", /neither http nor https/],
  ["no host", "http://", /not valid/],
  ["no scheme", "//127.0.0.1/", /not valid/],
];

describe("what no request is made to", () => {
  const outbound = new CheckedOutbound({ resolve, connectTimeoutMs: 10_000, requestTimeoutMs: 10_000 });

  it.each(refused)("%s: %s", async (_why, url, error) => {
    const answer = await outbound.request(url, { method: "POST", body: "{}" });
    const told = expect.stringMatching(error) as string;
    expect(answer).toMatchObject({ ok: false, permanent: true, error: told });
  });

  it.each([
    ["127.0.0.1", 25, /a loopback address/],
    ["2130706433", 25, /a loopback address/],
    ["::1", 25, /a loopback address/],
    ["[::1]", 25, /a loopback address/],
    ["fe80::1%lo", 25, /the host is not valid/],
    ["inside.example", 25, /leads to a private address/],
    ["user@public.example", 25, /the host is not valid/],
    ["public.example/path", 25, /the host is not valid/],
    ["public.example:25", 25, /the host is not valid/],
    ["public.example\r\n", 25, /the host is not valid/],
    ["", 25, /the host is not valid/],
    [".", 25, /the host is not valid/],
    ["127.0.0.1", 1, /a loopback address/],
    ["127.0.0.1", 65_535, /a loopback address/],
    ["93.184.215.14", -1, /the port is not valid/],
    ["93.184.215.14", 0, /the port is not valid/],
    ["93.184.215.14", 1.5, /the port is not valid/],
    ["93.184.215.14", 65_536, /the port is not valid/],
  ])("nor a connection to %j port %d", async (host, port, error) => {
    const answer = await outbound.connect(host, port, { tls: false });
    const told = expect.stringMatching(error) as string;
    expect(answer).toMatchObject({ ok: false, permanent: true, error: told });
  });

  it("says of a name that is not known that it may be asked for again", async () => {
    const answer = await outbound.request("http://unknown.example/", { method: "GET" });
    expect(answer).toEqual({ ok: false, error: "the name of the host is not known", permanent: false });
  });

  it("has the system look names up where no resolver is given", async () => {
    const answer = await new CheckedOutbound().request("http://localhost:9/", { method: "GET" });
    expect(answer).toMatchObject({ ok: false, permanent: true });
    expect(answer).toHaveProperty("error", expect.stringMatching(/leads to a loopback address/));
  });
});

describe("what is allowed", () => {
  it("is connected to, and its neighbours are not", async () => {
    const { url, port, received } = await startReceiver((response) => response.end("ok"));
    const outbound = new CheckedOutbound({ allow: ["127.0.0.1/32"] });
    expect(await outbound.request(`${url}/a?b#c`, { method: "POST", body: "é" })).toEqual({
      ok: true,
      status: 200,
    });
    expect(received).toMatchObject([
      { method: "POST", path: "/a?b", body: "é", headers: { "content-length": "2" } },
    ]);
    const other = await outbound.request(`http://127.0.0.2:${port}/`, { method: "POST" });
    expect(other).toMatchObject({ ok: false, permanent: true });
  });

  it("may have an @ behind its host, where it is no user", async () => {
    const { url, received } = await startReceiver((response) => response.end());
    const outbound = new CheckedOutbound({ allow: ["127.0.0.1/32"] });
    for (const path of ["/to:ops@example.com", "/?to=mail:ops@example.com", "/#a:b@c"])
      expect(await outbound.request(`${url}${path}`, { method: "GET" })).toEqual({ ok: true, status: 200 });
    expect(received.map(({ path }) => path)).toEqual([
      "/to:ops@example.com",
      "/?to=mail:ops@example.com",
      "/",
    ]);
  });

  it("is read, or refused, when the settings are made", () => {
    expect(() => new CheckedOutbound({ allow: ["10.0.0.0/33"] })).toThrow(RangeError);
    expect(() => new CheckedOutbound({ allow: ["everything"] })).toThrow('"everything" is neither');
  });

  it("may be one of several addresses of a name only if all of them are", async () => {
    const { port, received } = await startReceiver((response) => response.end());
    const url = `http://mixed.example:${port}/`;
    const resolving = { resolve: () => Promise.resolve(["127.0.0.1", "127.0.0.2"]) };
    const one = new CheckedOutbound({ allow: ["127.0.0.1"], ...resolving });
    expect(await one.request(url, { method: "GET" })).toMatchObject({ ok: false, permanent: true });
    const all = new CheckedOutbound({ allow: ["127.0.0.0/30"], ...resolving });
    expect(await all.request(url, { method: "GET" })).toEqual({ ok: true, status: 200 });
    expect(received).toHaveLength(1);
  });
});

describe("a name that leads elsewhere the second time", () => {
  it("is looked up once, and what was checked is what is connected to", async () => {
    const good = await startReceiver((response) => response.end());
    const evil = await startSocketServer((socket) => socket.destroy(), {
      host: "127.0.0.2",
      port: good.port,
    });
    const asked: string[] = [];
    const outbound = new CheckedOutbound({
      allow: ["127.0.0.1/32"],
      resolve: (name) => {
        asked.push(name);
        return Promise.resolve([asked.length === 1 ? "127.0.0.1" : "127.0.0.2"]);
      },
    });
    const url = `http://Rebinding.example.:${good.port}/hook`;
    expect(await outbound.request(url, { method: "POST" })).toEqual({ ok: true, status: 200 });
    expect(asked).toEqual(["rebinding.example."]);
    expect(good.received).toMatchObject([{ headers: { host: `rebinding.example.:${good.port}` } }]);
    expect(await outbound.request(url, { method: "POST" })).toMatchObject({ ok: false, permanent: true });
    expect(evil.connections()).toBe(0);
  });

  it("tries the next of several addresses where the first takes no connection", async () => {
    const { port, received } = await startReceiver((response) => response.end(), { host: "127.0.0.2" });
    const resolve = (): Promise<string[]> => Promise.resolve(["127.0.0.1", "127.0.0.2"]);
    const outbound = new CheckedOutbound({ allow: ["127.0.0.0/8"], resolve });
    expect(await outbound.request(`http://two.example:${port}/`, { method: "GET" })).toMatchObject({
      ok: true,
    });
    expect(received).toHaveLength(1);
  });
});
