/** The part of `GET /install.sh` that fetches a file, from a server that may be busy, over a line that may break. */

/** Functions of a shell: `fetch URL FILE`. */
export const downloadFunctions = `size_of() {
  if [ -f "$1" ]; then wc -c < "$1"; else echo 0; fi
}

# Asks once. Where a part of the file is there, the rest of it is asked for, if it is still the same one.
get() {
  if command -v curl > /dev/null; then
    curl -sSf --speed-limit 1 --speed-time 60 -C - -H "If-Range: \\"$sha256\\"" -D "$work/head" -o "$2" "$1" 2> "$work/told"
  elif command -v wget > /dev/null; then
    wget -q -S -c --header="If-Range: \\"$sha256\\"" \${ca:+--ca-certificate="$ca"} -O "$2" "$1" 2> "$work/head"
  else fail "it needs curl or wget."; fi
}

# Asks until all of it is there: when the server says so where it is busy, and again where a download broke off.
fetch() {
  waits=0 faults=0
  while :; do
    had=$(size_of "$2")
    rm -f "$work/head"
    code=0
    get "$1" "$2" || code=$?
    [ "$code" != 0 ] || return 0
    status=$(sed -n 's|^ *HTTP/[0-9.]* \\([0-9]*\\).*|\\1|p' "$work/head" 2> /dev/null | tail -n 1)
    pause=$(sed -n 's|^ *[Rr]etry-[Aa]fter: *\\([0-9]\\{1,2\\}\\)[^0-9]*$|\\1|p' "$work/head" 2> /dev/null | tail -n 1)
    if [ "$status" = 429 ]; then
      [ "$waits" != 0 ] || echo "The server is busy; this waits for its turn." >&2
      waits=$((waits + 1))
    elif [ "$(size_of "$2")" -gt "$had" ]; then
      faults=0
    else
      faults=$((faults + 1))
      # 33 of curl, and 416: what is here is no beginning of what is there.
      if [ "$code" = 33 ] || [ "$status" = 416 ]; then rm -f "$2"; fi
      case "$status" in 416) ;; 4*) return 1 ;; esac
      # A certificate that is not trusted, to wget and to curl.
      case "$code" in 5 | 60) return 1 ;; esac
    fi
    if [ "$waits" -gt 90 ] || [ "$faults" -gt 4 ]; then return 1; fi
    sleep "\${pause:-2}"
  done
}`;
