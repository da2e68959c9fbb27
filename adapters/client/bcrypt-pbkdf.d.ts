declare module "bcrypt-pbkdf" {
  const bcrypt: {
    /** Writes a key of `keyLength` bytes into `key`; 0 where it did. */
    pbkdf(
      passphrase: Uint8Array,
      passphraseLength: number,
      salt: Uint8Array,
      saltLength: number,
      key: Uint8Array,
      keyLength: number,
      rounds: number,
    ): number;
  };
  export default bcrypt;
}
