import fc from "fast-check";
import nacl from "tweetnacl";
import { describe, expect, test } from "vitest";
import { fromHex, toHex, toUtf8 } from "../../lib/crypto/encoding.ts";
import { nodeCrypto as crypto } from "../../lib/crypto/node-crypto.ts";

const hex = (text: string): Uint8Array => {
  const bytes = fromHex(text);
  if (!bytes) throw new Error("not hex");
  return bytes;
};
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });

describe("Ed25519", () => {
  // RFC 8032, section 7.1, tests 1 and 2.
  const vectors = [
    {
      seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
      message: "",
      signature:
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    },
    {
      seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
      message: "72",
      signature:
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    },
  ];
  test.each(vectors)("signs and verifies as RFC 8032 says: message $message", (vector) => {
    const signer = crypto.createSigner(hex(vector.seed));
    expect(toHex(signer.publicKey)).toBe(vector.publicKey);
    expect(toHex(signer.sign(hex(vector.message)))).toBe(vector.signature);
    expect(crypto.verify(hex(vector.publicKey), hex(vector.message), hex(vector.signature))).toBe(true);
  });

  test("agrees with tweetnacl on keys and signatures", () => {
    fc.assert(
      fc.property(bytes(32), fc.uint8Array({ maxLength: 300 }), (seed, message) => {
        const signer = crypto.createSigner(seed);
        const other = nacl.sign.keyPair.fromSeed(seed);
        expect(toHex(signer.publicKey)).toBe(toHex(other.publicKey));
        expect(toHex(signer.sign(message))).toBe(toHex(nacl.sign.detached(message, other.secretKey)));
        expect(crypto.verify(other.publicKey, message, signer.sign(message))).toBe(true);
        expect(crypto.isAcceptablePublicKey(other.publicKey)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  test("refuses a signature with any bit changed, of a wrong length, or of another message", () => {
    const signer = crypto.createSigner(new Uint8Array(32).fill(7));
    const message = toUtf8("the message");
    const signature = signer.sign(message);
    for (let bit = 0; bit < 512; bit += 1) {
      const changed = signature.slice();
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(crypto.verify(signer.publicKey, message, changed)).toBe(false);
    }
    expect(crypto.verify(signer.publicKey, message, signature.slice(0, 63))).toBe(false);
    expect(crypto.verify(signer.publicKey, toUtf8("the messagf"), signature)).toBe(false);
    expect(crypto.verify(signer.publicKey.slice(0, 31), message, signature)).toBe(false);
  });

  test("refuses the second signature that is made by adding the group order to S, which tweetnacl accepts", () => {
    const seed = new Uint8Array(32).fill(9);
    const signer = crypto.createSigner(seed);
    const message = toUtf8("pay once");
    const signature = signer.sign(message);
    const order = 2n ** 252n + 27742317777372353535851937790883648493n;
    let s = 0n;
    for (let index = 63; index >= 32; index -= 1) s = (s << 8n) | BigInt(signature[index] ?? 0);
    s += order;
    const malleable = signature.slice();
    for (let index = 32; index < 64; index += 1, s >>= 8n) malleable[index] = Number(s & 255n);
    expect(nacl.sign.detached.verify(message, malleable, signer.publicKey)).toBe(true);
    expect(crypto.verify(signer.publicKey, message, malleable)).toBe(false);
  });

  test("makes fresh key pairs that work", () => {
    const pair = crypto.createSigningKeyPair();
    const signer = crypto.createSigner(pair.secretKey);
    expect(toHex(signer.publicKey)).toBe(toHex(pair.publicKey));
    expect(toHex(crypto.createSigningKeyPair().publicKey)).not.toBe(toHex(pair.publicKey));
  });

  test("throws for a seed of a wrong length: that is the caller's mistake", () => {
    expect(() => crypto.createSigner(new Uint8Array(31))).toThrow(TypeError);
  });
});

describe("X25519", () => {
  test("computes the vector of RFC 7748, section 5.2", () => {
    const shared = crypto.exchange(
      hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"),
      hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"),
    );
    expect(toHex(shared ?? new Uint8Array())).toBe(
      "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
    );
  });

  test("agrees with tweetnacl", () => {
    const mine = crypto.createExchangeKeyPair();
    const theirs = nacl.box.keyPair();
    expect(toHex(nacl.scalarMult.base(mine.secretKey))).toBe(toHex(mine.publicKey));
    expect(toHex(crypto.exchange(mine.secretKey, theirs.publicKey) ?? new Uint8Array())).toBe(
      toHex(nacl.scalarMult(theirs.secretKey, mine.publicKey)),
    );
  });

  test.each([
    ["zero", "0000000000000000000000000000000000000000000000000000000000000000"],
    ["one", "0100000000000000000000000000000000000000000000000000000000000000"],
    ["order 8", "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"],
    ["p - 1", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"],
    ["p, a second form of zero", "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"],
    ["31 bytes", "00000000000000000000000000000000000000000000000000000000000000"],
  ])("gives null for a point of low order: %s", (_, point) => {
    expect(crypto.exchange(crypto.createExchangeKeyPair().secretKey, hex(point))).toBe(null);
  });
});

describe("ChaCha20-Poly1305", () => {
  const key = hex("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
  const nonce = hex("070000004041424344454647");

  test("encrypts as RFC 8439, section 2.8.2 says", () => {
    const plain = toUtf8(
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.",
    );
    // The vector has associated data, which changes the tag only.
    const ciphertext =
      "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b" +
      "1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc" +
      "3ff4def08e4b7a9de576d26586cec64b6116";
    const sealed = crypto.seal(key, nonce, plain);
    expect(toHex(sealed.subarray(0, plain.length))).toBe(ciphertext);
    expect(sealed.length).toBe(plain.length + 16);
    expect(crypto.open(key, nonce, sealed)).toEqual(plain);
  });

  test("opens only what was sealed with the same key and nonce, unchanged", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (plain, at, flip) => {
          const sealed = crypto.seal(key, nonce, plain);
          expect(crypto.open(key, nonce, sealed)).toEqual(plain);
          const changed = sealed.slice();
          changed[at % changed.length] = (changed[at % changed.length] ?? 0) ^ flip;
          expect(crypto.open(key, nonce, changed)).toBe(null);
          expect(crypto.open(key, nonce, sealed.subarray(0, sealed.length - 1))).toBe(null);
          expect(crypto.open(key, hex("070000004041424344454648"), sealed)).toBe(null);
        },
      ),
    );
    expect(crypto.open(key, nonce, new Uint8Array(15))).toBe(null);
  });
});

test("derives as RFC 5869, test case 3 says", () => {
  expect(toHex(crypto.deriveKey(new Uint8Array(22).fill(11), new Uint8Array(), "", 42))).toBe(
    "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
  );
});

test("authenticates as RFC 4231, test case 2 says", () => {
  expect(toHex(crypto.hmac(toUtf8("Jefe"), toUtf8("what do ya want for nothing?")))).toBe(
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  );
});

test("hashes as FIPS 180 says", () => {
  expect(toHex(crypto.sha256(toUtf8("abc")))).toBe(
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
});

test("compares bytes of any two lengths", () => {
  expect(crypto.equal(hex("0102"), hex("0102"))).toBe(true);
  expect(crypto.equal(hex("0102"), hex("0103"))).toBe(false);
  expect(crypto.equal(hex("0102"), hex("010203"))).toBe(false);
});

test("gives random bytes of the length asked for", () => {
  expect(crypto.randomBytes(24)).toHaveLength(24);
  expect(toHex(crypto.randomBytes(24))).not.toBe(toHex(crypto.randomBytes(24)));
});
