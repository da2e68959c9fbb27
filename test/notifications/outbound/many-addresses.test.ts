/** An address is what it is, however many were read before: a function that is called often is optimized, and must not change by that. */
import { expect, test } from "vitest";
import { faultOfUrl } from "../../../adapters/client/http.ts";
import { parsedUrl as parsedInAdapters } from "../../../adapters/http/parsed-url.ts";
import { parsedUrl } from "../../../lib/internal/url-text.ts";
import { certifiedName } from "../../../lib/notifications/outbound/addresses.ts";
import { urlField } from "../../../lib/notifications/senders/fields.ts";
import { linkOf } from "../../../lib/notifications/senders/text.ts";
import { urlSchema } from "../../../lib/state/resources/shared/properties.ts";

const url = "http://bücher.example/";
const asRead = "http://xn--bcher-kva.example/";

const readers: Record<string, [read: () => unknown, known: unknown]> = {
  "what the library reads": [() => parsedUrl(url)?.href, asRead],
  "what the server reads": [() => parsedInAdapters(url)?.href, asRead],
  "the address of a server": [() => faultOfUrl("http://ada:secret@bücher.example/") !== null, true],
  "the host of a certificate": [() => certifiedName("bücher.example"), "xn--bcher-kva.example"],
  "the link of a message": [() => linkOf({ url } as Parameters<typeof linkOf>[0]), asRead],
  "the address of a channel": [() => urlField().safeParse(url).success, true],
  "the address of a download": [() => urlSchema.safeParse(url).success, true],
};

test.each(Object.entries(readers))("%s stays the same over 20,000 calls", (_name, [read, known]) => {
  let others = 0;
  for (let call = 0; call < 20_000; call++) if (read() !== known) others++;
  expect(others).toBe(0);
});
