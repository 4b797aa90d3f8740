// Before the first paint: language and theme. If the page then can't start, a sentence says so.
(() => {
  const root = document.documentElement;
  const options = new URLSearchParams(location.search);
  const lang = options.get("lang");
  if (lang === "ko" || lang === "en") root.lang = lang;
  else root.lang = (navigator.languages || [navigator.language]).some((l) => /^ko\b/i.test(l)) ? "ko" : "en";
  const theme = options.get("theme");
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  if (options.get("embed") === "1") root.dataset.embed = "1";

  let started = false;
  addEventListener("TrunkApplicationStarted", () => { started = true; });
  const fail = (en, ko) => {
    const note = document.getElementById("outline-note");
    if (started || !note || note.classList.contains("failed")) return;
    note.classList.add("failed");
    note.setAttribute("role", "alert");
    note.querySelector("[lang=en]").textContent = en;
    note.querySelector("[lang=ko]").textContent = ko;
  };
  const cannotStart = (reason) => fail(
    `The page could not start: ${reason}. Reloading may help.`,
    `페이지를 시작하지 못했습니다: ${reason}. 새로 고치면 될 수도 있습니다.`,
  );
  const check = () => {
    if (typeof WebAssembly !== "object" || typeof Worker !== "function") {
      fail(
        "This browser has no WebAssembly, which the cluster runs on. It may be switched off (in a lockdown mode, for instance), or the browser is too old.",
        "이 브라우저에는 클러스터를 돌리는 WebAssembly가 없습니다. 잠금 모드 등에서 꺼져 있거나 브라우저가 오래된 것일 수 있습니다.",
      );
    }
  };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", check);
  else check();
  // A script or module that fails to load or to run tells it here.
  addEventListener("error", (event) => {
    const source = event.target && event.target.src;
    cannotStart(source ? `${source} did not load` : event.message || "an error");
  }, true);
  addEventListener("unhandledrejection", (event) => cannotStart(String((event.reason && event.reason.message) || event.reason)));
})();
