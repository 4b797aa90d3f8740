// Inline scripts become files, so that the page works under `script-src 'self'`.

// `file(text)` keeps a script's text and gives its name. A script of `trunk serve` stays: trunk fills in what it left
// open there when it answers, and a built page has none.
export function takeOut(html, file) {
  return html.replace(/<script([^>]*)>([\s\S]*?)<\/script>/g, (whole, attributes, text) => {
    if (/\bsrc=/.test(attributes) || text.trim() === "" || /\{\{__trunk/i.test(text)) return whole;
    return `<script${attributes.replace(/\s+nonce="[^"]*"/, "")} src="${file(text)}"></script>`;
  });
}
