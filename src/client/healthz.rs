//! The `/healthz` of a component that serves nothing else: its secure port (component-base's and apiserver's
//! secure serving).

use std::rc::Rc;

use api::Status;
use api::rest::{Answer, ClientFrame, Response, ServerFrame, Target};
use sim::{Ctx, Severity};

/// Answers `ok` on the port until the process ends. Where the port is taken, nothing is served.
pub fn serve(ctx: &Ctx, port: u16) {
    let Ok(listener) = ctx.listen(port) else { return };
    ctx.log(Severity::Info, "secure_serving.go:216", format!("Serving securely on 127.0.0.1:{port}"));
    let inner = ctx.clone();
    ctx.spawn("healthz", async move {
        while let Ok(conn) = listener.accept().await {
            inner.spawn("http", async move {
                while let Ok(frame) = conn.recv::<ClientFrame>().await {
                    let ClientFrame::Request { stream, request } = frame else { continue };
                    let (code, answer) = match &request.target {
                        Target::Path(path) if matches!(&**path, "/healthz" | "/livez" | "/readyz") => {
                            (200, Answer::Text("ok".into()))
                        }
                        _ => (404, Answer::Status(Rc::new(Status::not_found_path()))),
                    };
                    let response = Response { code, warnings: Vec::new(), retry_after: 0, answer };
                    if conn.send_as("healthz", ServerFrame::Response { stream, response }).is_err() {
                        return;
                    }
                }
            });
        }
    });
}
