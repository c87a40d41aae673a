import SwiftUI

@main
struct DigitsApp: App {
    var body: some Scene {
        WindowGroup { DigitsScreen() }
    }
}

struct DigitsScreen: View {
    @State private var digits: Digits?
    @State private var answer = "Draw a digit."
    @State private var drawing = 0

    var body: some View {
        VStack(spacing: 24) {
            BoardView(drawing: drawing, onDrawn: guess)
                .frame(width: 256, height: 256)
            Text(answer)
                .font(.title3)
            Button("Clear") {
                drawing += 1
                answer = "Draw a digit."
            }
        }
        .padding()
        .task {
            do {
                digits = try Digits()
            } catch {
                answer = "The model cannot be loaded: \(error)"
            }
        }
    }

    private func guess(_ pixels: [UInt8]) {
        guard let digits else { return }
        let image = Digits.image(pixels: pixels, size: Board.size)
        Task { @MainActor in
            do {
                let guess = try await digits.guess(image)
                answer = String(format: "This is a %d (score %.3f).", guess.digit, guess.score)
            } catch {
                answer = "The model cannot run: \(error)"
            }
        }
    }
}
