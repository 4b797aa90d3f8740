// Makes a page of a document in Markdown, as far as docs/ uses it: headings, paragraphs, lists, tables, code, bold and
// links. Links to files of the repository become plain text: they are not served.
const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

const inline = (text) =>
  escaped(text)
    .replace(/`([^`]+)`/g, "<code>$1</code>")
    .replace(/\*\*([^*]+)\*\*/g, "<b>$1</b>")
    .replace(/\[([^\]]+)\]\((https?:[^)\s]+)\)/g, '<a href="$2">$1</a>')
    .replace(/\[([^\]]+)\]\([^)]*\)/g, "$1");

function block(lines) {
  const heading = /^(#{1,4}) (.*)$/.exec(lines[0]);
  if (heading) return `<h${heading[1].length}>${inline(heading[2])}</h${heading[1].length}>`;
  if (lines[0].startsWith("- ")) {
    const items = lines.join("\n").split(/^- /m).slice(1);
    return `<ul>${items.map((item) => `<li>${inline(item.trim())}</li>`).join("\n")}</ul>`;
  }
  if (lines[0].startsWith("|")) {
    const cells = (line, of) => line.split("|").slice(1, -1).map((cell) => `<${of}>${inline(cell.trim())}</${of}>`).join("");
    const [head, , ...rows] = lines;
    return `<table><thead><tr>${cells(head, "th")}</tr></thead><tbody>${rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("\n")}</tbody></table>`;
  }
  return `<p>${inline(lines.join(" "))}</p>`;
}

// The document as a page that needs nothing but the styles named.
export function page(markdown, styles) {
  const blocks = markdown.split(/\n{2,}/).map((text) => text.split("\n").filter((line) => line.length > 0)).filter((lines) => lines.length > 0);
  const title = /^# (.*)$/m.exec(markdown)?.[1] ?? "";
  const links = styles.map((name) => `<link rel="stylesheet" href="${name}">`).join("");
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escaped(title)} · Tabernetes</title>${links}</head><body class="document"><main>${blocks.map(block).join("\n")}</main></body></html>\n`;
}
