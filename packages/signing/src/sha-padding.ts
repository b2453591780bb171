/** A message as whole blocks, as all of SHA pad it: a one bit, zeros, and the length in bits in the last eight bytes. */
export function withPadding(message: Uint8Array, blockBytes: 64 | 128): DataView {
  const lengthBytes = blockBytes / 8;
  const blocks = Math.ceil((message.length + 1 + lengthBytes) / blockBytes);
  const padded = new Uint8Array(blocks * blockBytes);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(message.length) * 8n);
  return view;
}
