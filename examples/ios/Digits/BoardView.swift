import SwiftUI
import UIKit

/// A black square to draw on in white.
final class Board: UIView {
    /// Pixels in a row of what the model is given.
    static let size = 16 * Digits.side

    var onDrawn: ([UInt8]) -> Void = { _ in }
    private var lines: [[CGPoint]] = []

    override init(frame: CGRect) {
        super.init(frame: frame)
        backgroundColor = .black
        isAccessibilityElement = true
        accessibilityLabel = "A square to draw a digit in"
    }

    required init?(coder: NSCoder) {
        fatalError("init(coder:) is not used: the view is made by SwiftUI")
    }

    func clear() {
        lines = []
        setNeedsDisplay()
    }

    override func draw(_ rect: CGRect) {
        UIColor.white.setStroke()
        for line in lines {
            guard let first = line.first else { continue }
            let path = UIBezierPath()
            path.lineWidth = bounds.width / 9
            path.lineCapStyle = .round
            path.lineJoinStyle = .round
            path.move(to: first)
            line.forEach(path.addLine(to:))
            path.stroke()
        }
    }

    override func touchesBegan(_ touches: Set<UITouch>, with event: UIEvent?) {
        guard let touch = touches.first else { return }
        lines.append([touch.location(in: self)])
        setNeedsDisplay()
    }

    override func touchesMoved(_ touches: Set<UITouch>, with event: UIEvent?) {
        guard let touch = touches.first, !lines.isEmpty else { return }
        lines[lines.count - 1].append(touch.location(in: self))
        setNeedsDisplay()
    }

    override func touchesEnded(_ touches: Set<UITouch>, with event: UIEvent?) {
        onDrawn(pixels())
    }

    /// Brightness from 0 to 255, `size` rows of `size`.
    private func pixels() -> [UInt8] {
        let size = Self.size
        var found = [UInt8](repeating: 0, count: size * size)
        found.withUnsafeMutableBytes { memory in
            guard
                let context = CGContext(
                    data: memory.baseAddress, width: size, height: size, bitsPerComponent: 8,
                    bytesPerRow: size, space: CGColorSpaceCreateDeviceGray(),
                    bitmapInfo: CGImageAlphaInfo.none.rawValue)
            else { return }
            // UIKit counts rows from the top, Core Graphics from the bottom.
            context.translateBy(x: 0, y: CGFloat(size))
            context.scaleBy(x: CGFloat(size) / bounds.width, y: -CGFloat(size) / bounds.height)
            layer.render(in: context)
        }
        return found
    }
}

struct BoardView: UIViewRepresentable {
    /// Another number clears the board.
    let drawing: Int
    let onDrawn: ([UInt8]) -> Void

    func makeUIView(context: Context) -> Board { Board() }

    func updateUIView(_ board: Board, context: Context) {
        board.onDrawn = onDrawn
        if context.coordinator.drawing != drawing {
            context.coordinator.drawing = drawing
            board.clear()
        }
    }

    func makeCoordinator() -> Coordinator { Coordinator() }

    final class Coordinator {
        var drawing = 0
    }
}
