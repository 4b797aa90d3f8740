// The manifest editor: CodeMirror 6, bundled into www/editor.js by `npm run editor` and loaded when the editor is first
// shown. The page talks to it through window.tabernetesEditor only.
import { EditorState, StateEffect, StateField, Compartment, EditorSelection } from "@codemirror/state";
import {
  EditorView, Decoration, WidgetType, ViewPlugin, keymap, lineNumbers, highlightActiveLine, highlightActiveLineGutter,
  drawSelection,
} from "@codemirror/view";
import { defaultKeymap, history, historyKeymap, indentMore, indentLess } from "@codemirror/commands";
import { StreamLanguage, HighlightStyle, syntaxHighlighting, indentUnit } from "@codemirror/language";
import { tags } from "@lezer/highlight";

// YAML as far as colours go: keys, values, numbers, punctuation, comments, block scalars.
const yaml = StreamLanguage.define({
  name: "yaml",
  startState: () => ({ block: -1, indent: 0, key: true }),
  token(stream, state) {
    if (stream.sol()) {
      state.indent = stream.indentation();
      state.key = true;
      if (state.block >= 0) {
        if (stream.match(/^\s*$/)) return null;
        if (state.indent > state.block) { stream.skipToEnd(); return "string"; }
        state.block = -1;
      }
      if (stream.match(/^(---|\.\.\.)(?=\s|$)/)) return "punctuation";
    }
    if (stream.eatSpace()) return null;
    if (stream.peek() === "#") { stream.skipToEnd(); return "comment"; }
    if (stream.match(/^-(?=\s|$)/)) return "punctuation";
    if (state.key && stream.match(/^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#:[\]{},&*!|>'"%@`-][^#:]*?|[^\s:]+?)(?=\s*:(\s|$))/)) return "propertyName";
    if (stream.match(/^:(?=\s|$)/)) { state.key = false; return "punctuation"; }
    if (stream.match(/^[|>][+-]?\d*(?=\s*(#.*)?$)/)) { state.block = state.indent; return "punctuation"; }
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'(?:[^']|'')*'?/)) { state.key = false; return "string"; }
    if (stream.match(/^[[\]{},]/)) { state.key = /[{,[]/.test(stream.current()); return "punctuation"; }
    if (stream.match(/^(-?\d+(\.\d+)?|true|false|null|~)(?=\s*(#.*)?$|\s*[,\]}])/)) return "number";
    state.key = false;
    if (!stream.match(/^[^\s#,\]}][^#]*?(?=\s+#|$)/)) stream.next();
    return "string";
  },
});

const colours = HighlightStyle.define([
  { tag: tags.propertyName, class: "y-k" },
  { tag: tags.string, class: "y-s" },
  { tag: tags.number, class: "y-n" },
  { tag: tags.punctuation, class: "y-p" },
  { tag: tags.comment, class: "y-c" },
]);

// Faint lines at every second column of the indentation.
const guide = Decoration.mark({ class: "guide" });
const guides = ViewPlugin.fromClass(class {
  constructor(view) { this.decorations = this.draw(view); }
  update(update) { if (update.docChanged || update.viewportChanged) this.decorations = this.draw(update.view); }
  draw(view) {
    const marks = [];
    for (const { from, to } of view.visibleRanges) {
      for (let at = from; at <= to;) {
        const line = view.state.doc.lineAt(at);
        const indent = /^ */.exec(line.text)[0].length;
        for (let i = 0; i + 2 <= indent; i += 2) marks.push(guide.range(line.from + i, line.from + i + 2));
        at = line.to + 1;
      }
    }
    return Decoration.set(marks);
  }
}, { decorations: (plugin) => plugin.decorations });

// Problems: the line, the words, and under the line what the server said.
const setProblems = StateEffect.define();

class Lens extends WidgetType {
  constructor(problem, texts) { super(); this.problem = problem; this.texts = texts; }
  eq(other) { return JSON.stringify(other.problem) === JSON.stringify(this.problem) && other.texts.fix === this.texts.fix; }
  get estimatedHeight() { return 72; }
  ignoreEvent() { return true; }
  toDOM(view) {
    const box = document.createElement("div");
    box.className = "lens";
    box.setAttribute("role", "note");
    const code = document.createElement("code");
    code.textContent = this.problem.message;
    box.append(code);
    if (this.problem.suggestion) {
      const fix = document.createElement("div");
      fix.className = "fix";
      const [before, after] = this.texts.mean.split("{}");
      const word = document.createElement("b");
      word.className = "mono";
      word.textContent = this.problem.suggestion;
      const text = document.createElement("span");
      text.append(before, word, after || "");
      const button = document.createElement("button");
      button.className = "btn line";
      button.type = "button";
      button.textContent = this.texts.fix;
      button.onclick = () => {
        const range = rangeOf(view.state.doc, this.problem);
        if (!range) return;
        view.dispatch({
          changes: { from: range.from, to: range.to, insert: this.problem.suggestion },
          effects: setProblems.of({ list: [], texts: this.texts }),
          selection: EditorSelection.cursor(range.from + this.problem.suggestion.length),
        });
        view.focus();
      };
      fix.append(text, button);
      box.append(fix);
    }
    // Heights are measured without margins: the space around the box is its holder's padding.
    const holder = document.createElement("div");
    holder.className = "lensbox";
    holder.append(box);
    return holder;
  }
}

const rangeOf = (doc, problem) => {
  if (problem.line < 1 || problem.line > doc.lines) return null;
  const line = doc.line(problem.line);
  const indent = /^[ -]*/.exec(line.text)[0].length;
  const from = Math.min(line.to, line.from + (problem.column > 0 ? problem.column - 1 : indent));
  let to = problem.endColumn > 0 ? line.from + problem.endColumn - 1 : line.to;
  to = Math.max(from, Math.min(line.to, to));
  return { line, from, to };
};

const problemField = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(setProblems)) continue;
      const list = [];
      for (const problem of effect.value.list.slice(0, 50)) {
        const range = rangeOf(transaction.state.doc, problem);
        if (!range) continue;
        list.push(Decoration.line({ class: "err" }).range(range.line.from));
        if (range.to > range.from) list.push(Decoration.mark({ class: "squiggle" }).range(range.from, range.to));
        list.push(Decoration.widget({ widget: new Lens(problem, effect.value.texts), block: true, side: 1 }).range(range.line.to));
      }
      return Decoration.set(list, true);
    }
    return marks.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

window.tabernetesEditor = {
  create(host, text, label, readOnly, onChange, onApply) {
    const labels = new Compartment();
    const attributes = (name) => EditorView.contentAttributes.of({
      "aria-label": name, tabindex: "0", spellcheck: "false", autocapitalize: "off", autocorrect: "off",
    });
    const view = new EditorView({
      parent: host,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(), history(), drawSelection(), indentUnit.of("  "), yaml, syntaxHighlighting(colours), guides,
          highlightActiveLine(), highlightActiveLineGutter(), problemField, labels.of(attributes(label)),
          EditorState.readOnly.of(readOnly), EditorState.tabSize.of(2),
          keymap.of([
            { key: "Ctrl-Enter", mac: "Cmd-Enter", run: () => { onApply(); return true; } },
            { key: "Ctrl-Enter", run: () => { onApply(); return true; } },
            { key: "Ctrl-]", mac: "Cmd-]", run: indentMore },
            { key: "Ctrl-[", mac: "Cmd-[", run: indentLess },
            ...defaultKeymap.filter((binding) => binding.key !== "Mod-Enter"), ...historyKeymap,
          ]),
          EditorView.updateListener.of((update) => { if (update.docChanged) onChange(update.state.doc.toString()); }),
        ],
      }),
    });
    return {
      setText(value) {
        if (value === view.state.doc.toString()) return;
        view.dispatch({
          changes: { from: 0, to: view.state.doc.length, insert: value },
          effects: setProblems.of({ list: [], texts: {} }),
          selection: EditorSelection.cursor(0), scrollIntoView: true,
        });
      },
      setProblems(json, mean, fix) {
        const list = JSON.parse(json);
        view.dispatch({ effects: setProblems.of({ list, texts: { mean, fix } }) });
        const first = list.map((problem) => rangeOf(view.state.doc, problem)).find(Boolean);
        if (first) view.dispatch({ effects: EditorView.scrollIntoView(first.from, { y: "nearest", yMargin: 60 }) });
      },
      setLabel(name) { view.dispatch({ effects: labels.reconfigure(attributes(name)) }); },
      focus() { view.focus(); },
      destroy() { view.destroy(); },
    };
  },
};
window.dispatchEvent(new Event("tabernetes-editor"));
