import { expect, test } from "vitest";
import { parseDownloadUrl, redirectTarget } from "../../lib/host/download-url.ts";
import { toPublicUrl, withoutCredentials } from "../../lib/internal/url-text.ts";

const from = (url: string, location: string): string => redirectTarget(new URL(url), location).href;

test("a redirect may lead from http to https, never back", () => {
  expect(from("http://a.example/x", "https://a.example/y")).toBe("https://a.example/y");
  expect(() => from("https://a.example/x", "http://a.example/x")).toThrow(/redirects from https to http\./);
});

test("a redirect leads nowhere but to http and https", () => {
  for (const location of ["file:///etc/passwd", "ftp://a.example/", "http://"]) {
    expect(() => from("http://a.example/x", location)).toThrow(/neither http nor https/);
  }
});

test("user and password stay with their own server", () => {
  expect(from("https://u:p@a.example/x", "/y")).toBe("https://u:p@a.example/y");
  expect(from("https://u:p@a.example/x", "https://a.example/y")).toBe("https://u:p@a.example/y");
  expect(from("https://u:p@a.example/x", "https://b.example/y")).toBe("https://b.example/y");
});

test("what is no address is refused without quoting it", () => {
  for (const text of ["hunter2", "file:///hunter2", "ext::hunter2"]) {
    expect(() => parseDownloadUrl(text)).toThrow(
      expect.objectContaining({ code: "DOWNLOAD_FAILED", message: expect.not.stringContaining("hunter2") }),
    );
  }
});

test("an address is shown without user, password, query and fragment", () => {
  expect(toPublicUrl("https://u:p@a.example:8443/x?token=1#f")).toBe("https://a.example:8443/x");
  expect(toPublicUrl("git@a.example:x.git")).toBe("git@a.example:x.git");
  expect(withoutCredentials("fatal: 'https://u:p@a.example/x' and http://t@b/")).toBe(
    "fatal: 'https://a.example/x' and http://b/",
  );
});

test.each(["https", "http", "HTTPS", "Http"])(
  "no user and no password of an address of %s is shown, nor of any beside it",
  (scheme) => {
    const [first, second] = [`${scheme}://u:hunter2@a.example`, `${scheme}://hunter2@b.example/x`];
    const told = [
      withoutCredentials(`can't reach ${first}, nor ${second}`),
      toPublicUrl(first),
      toPublicUrl(second),
    ];
    expect(told).toEqual([
      `can't reach ${scheme}://a.example, nor ${scheme}://b.example/x`,
      `${scheme.toLowerCase()}://a.example/`,
      `${scheme.toLowerCase()}://b.example/x`,
    ]);
  },
);
